// The routes, one file each in routes/. A route answers through call.reply, at once or later; it runs on the I/O thread
// and hands what takes long to a worker.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "server/completion.h"
#include "server/context.h"

namespace realizar::server {

struct Route {
  const char* method;
  const char* path;  // may have a name in braces: what stands there in a request's path is Call::path_id
  void (*handle)(Call call);
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

void get_models(Call call);
void get_model(Call call);
void post_chat_completions(Call call);
void post_completions(Call call);
void post_embeddings(Call call);
void post_responses(Call call);
void get_response(Call call);
void delete_response(Call call);
void get_input_items(Call call);
void post_cancel_response(Call call);
void post_tokenize(Call call);
void post_detokenize(Call call);
void post_apply_template(Call call);
void get_livez(Call call);
void get_readyz(Call call);
void get_health(Call call);
void get_version(Call call);
void get_metrics(Call call);
void get_metrics_history(Call call);
void get_page(Call call);
void get_manifest(Call call);
void delete_cache(Call call);

// Has `work` done on a worker for bodies of that size, then `then` on the I/O thread. What either throws ends the call.
void on_worker(Call call, size_t n_body_bytes, std::function<void(Call&)> work, std::function<void(Call)> then);

// The usual way of a POST: gets the model that the body names, parses the body on a worker, has `prepare` work there,
// and calls what that gives on the I/O thread. Errors are answered.
struct Prepared {
  std::function<void(Call, ServedModelPtr)> respond;
};
using Prepare = Result<Prepared> (*)(const Json& body, const ServedModelPtr& model, const Call& call);
void with_model(Call call, Prepare prepare);

// For with_model's prepare: a generation that `plan` describes.
Prepared respond_with(CompletionPlan plan);

}  // namespace realizar::server
