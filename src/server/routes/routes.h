// The routes: paths, the coroutine that serves calls of each, and its protocol. Answers that are available at once are
// plain functions, in routes/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/call/context.h"
#include "server/call/protocol.h"
#include "server/http/json.h"
#include "server/http/origin_policy.h"

namespace realizar::server {

std::span<const Route> all_routes();

Effect effect_of(const Route& route);

// The route for a request's method and path.
struct RouteMatch {
  const Route* route = nullptr;  // null: none
  std::string path_id;           // percent-decoded
  std::string allowed;           // the path's methods, for the header Allow; "": no such path
};

// A route whose path begins with /v1 also works without it, and no other route works with it. Extra slashes are ignored
// in routes of /v1, /v2 and /api. HEAD goes where GET goes. If several paths match, the one with most text outside its
// braces is used.
RouteMatch find_route(std::string_view method, std::string_view path, bool llama_answers = false);

HttpResponse get_model(const Call& call);
HttpResponse get_message_models(const Call& call);
HttpResponse get_message_model(const Call& call);
HttpResponse delete_response(const Call& call);
HttpResponse post_cancel_response(const Call& call);
HttpResponse get_livez(const Call& call);
HttpResponse get_readyz(const Call& call);
HttpResponse get_health(const Call& call);
HttpResponse get_version(const Call& call);
HttpResponse get_metrics(const Call& call);
HttpResponse get_metrics_history(const Call& call);
HttpResponse get_lora_adapters(const Call& call);
HttpResponse get_props(const Call& call);
HttpResponse get_slots(const Call& call);
HttpResponse get_page(const Call& call);
HttpResponse get_page_part(const Call& call);
HttpResponse get_manifest(const Call& call);
HttpResponse get_mcp(const Call& call);
HttpResponse get_ollama_version(const Call& call);
HttpResponse get_blob(const Call& call);
void take_blob(Call& call);
Task<Status> post_blob(Call& call);
Task<Status> get_response(Call& call);
Task<Status> get_input_items(Call& call);
Task<Status> delete_cache(Call& call);
Task<Status> get_mcp_tools(Call& call);
Task<Status> post_mcp_call(Call& call);
Status post_models(Call& call, const Json& body);
Task<Status> get_models(Call& call);
Status post_models_load(Call& call, const Json& body);
Status post_models_unload(Call& call, const Json& body);
Task<Status> post_models_search(Call& call, const Json& body);
Task<Status> post_models_choices(Call& call, const Json& body);
Task<Status> delete_models(Call& call);
Task<Status> get_models_sse(Call& call);
Task<Status> post_slot(Call& call);
Task<Status> post_lora_adapters(Call& call);
Task<Status> post_load_lora_adapter(Call& call);
Task<Status> post_unload_lora_adapter(Call& call);
Task<Status> get_ollama_tags(Call& call);
Task<Status> get_ollama_ps(Call& call);
Task<Status> post_ollama_show(Call& call, const Json& body);
Task<Status> post_ollama_copy(Call& call, const Json& body);
Task<Status> post_ollama_create(Call& call, const Json& body);
Task<Status> post_ollama_pull(Call& call, const Json& body);
Status post_ollama_push(Call& call, const Json& body);
Task<Status> post_service_models(Call& call, const Json& body);
Task<Status> delete_ollama_model(Call& call, const Json& body);

inline HttpResponse json_response(const Json& json, int status = 200) {
  return {status, "application/json", dump(json), {}};
}

// The loaded model of that name; "": the first one. It stays loaded while it is held. Errors: NotFound;
// ResourceExhausted if it is not loaded.
Result<ServedModelPtr> loaded_model(const Call& call, const std::string& name);

// Replaces a compressed body with the decoded one. If that fails, the call is over.
Task<Status> decode(Call& call);

// The JSON object of a call's body, decoded; without a body an empty one, or an error. Errors: InvalidArgument.
Task<Result<Json>> json_object(Call& call, bool may_be_missing);

// Serves a call that a model answers: decodes its body, acquires its model, calls the protocol's `read` on a worker,
// and sends or generates the result.
Task<Status> with_model(Call& call);
// Like with_model, but a body that only unloads its model does not load it first.
Task<Status> with_ollama_model(Call& call);

}  // namespace realizar::server
