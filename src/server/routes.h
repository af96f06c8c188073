// The routes, one file each in routes/. A route is a coroutine that serves a call; what is there at once, or what is
// done on a worker for with_model(), is a plain function.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "server/completion.h"
#include "server/context.h"

namespace realizar::server {

// What of a body's call is done on a worker: from its JSON to a response, or to what is to be generated.
using Prepared = std::variant<HttpResponse, CompletionPlan>;
using Prepare = Result<Prepared> (*)(const Json& body, const ServedModelPtr& model, Call& call);

struct Route {
  const char* method;
  const char* path;  // may have a name in braces: what stands there in a request's path is Call::path_id
  Task<Status> (*serve)(Call& call);
  Prepare prepare = nullptr;  // of with_model
  bool needs_key = true;
};

// Where a request's method and path lead.
struct RouteMatch {
  const Route* route = nullptr;  // null: nowhere
  std::string path_id;           // percent-decoded
  std::string allowed;           // the path's methods, as the header Allow has them; "": there is no such path
};

// Every route is there with /v1 before its path and without it. HEAD goes where GET goes. Of several paths that fit,
// the one with most text outside its braces is meant.
RouteMatch find_route(std::string_view method, std::string_view path);

HttpResponse get_models(const Call& call);
HttpResponse get_model(const Call& call);
HttpResponse get_response(const Call& call);
HttpResponse delete_response(const Call& call);
HttpResponse post_cancel_response(const Call& call);
HttpResponse get_livez(const Call& call);
HttpResponse get_readyz(const Call& call);
HttpResponse get_health(const Call& call);
HttpResponse get_version(const Call& call);
HttpResponse get_metrics(const Call& call);
HttpResponse get_metrics_history(const Call& call);
HttpResponse get_page(const Call& call);
HttpResponse get_manifest(const Call& call);
Task<Status> get_input_items(Call& call);
Task<Status> delete_cache(Call& call);

// The way of what a model answers: its body is decoded, the model that it names acquired, the route's `prepare` called
// on a worker, and what that gives is sent or generated.
Task<Status> with_model(Call& call);
Result<Prepared> prepare_chat(const Json& body, const ServedModelPtr& model, Call& call);
Result<Prepared> prepare_completion(const Json& body, const ServedModelPtr& model, Call& call);
Result<Prepared> prepare_embeddings(const Json& body, const ServedModelPtr& model, Call& call);
Result<Prepared> prepare_response(const Json& body, const ServedModelPtr& model, Call& call);
Result<Prepared> prepare_tokenize(const Json& body, const ServedModelPtr& model, Call& call);
Result<Prepared> prepare_detokenize(const Json& body, const ServedModelPtr& model, Call& call);
Result<Prepared> prepare_apply_template(const Json& body, const ServedModelPtr& model, Call& call);

}  // namespace realizar::server
