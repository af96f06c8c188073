#include "server/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "server/body_coding.h"
#include "server/chat_prompt.h"
#include "server/field_warnings.h"

namespace realizar::server {
namespace {

constexpr Route kRoutes[] = {
    {"GET", "/v1/models", get_models},
    {"GET", "/v1/models/{model}", get_model},
    {"POST", "/v1/chat/completions", post_chat_completions},
    {"POST", "/v1/completions", post_completions},
    {"POST", "/v1/embeddings", post_embeddings},
    {"POST", "/v1/responses", post_responses},
    {"GET", "/v1/responses/{response_id}", get_response},
    {"DELETE", "/v1/responses/{response_id}", delete_response},
    {"GET", "/v1/responses/{response_id}/input_items", get_input_items},
    {"POST", "/v1/responses/{response_id}/cancel", post_cancel_response},
    {"DELETE", "/cache", delete_cache},
    {"POST", "/tokenize", post_tokenize},
    {"POST", "/detokenize", post_detokenize},
    {"POST", "/apply-template", post_apply_template},
    {"GET", "/livez", get_livez, false},
    {"GET", "/readyz", get_readyz, false},
    {"GET", "/health", get_health, false},
    {"GET", "/ping", get_health, false},
    {"GET", "/version", get_version, false},
    {"GET", "/metrics", get_metrics},
    {"GET", "/metrics/history", get_metrics_history},
    {"GET", "/", get_page, false},
    {"GET", "/manifest.webmanifest", get_manifest, false},
};

std::string_view without_version(std::string_view path) {
  constexpr std::string_view kVersion = "/v1";
  const bool has_version = path.starts_with("/v1/") && path.size() > kVersion.size() + 1;
  return has_version ? path.substr(kVersion.size()) : path;
}

struct PathMatch {
  std::string_view id;  // what stands in the place of the pattern's name
  size_t n_fixed;       // bytes of the pattern outside its braces
};

// Nullopt: the path is another.
std::optional<PathMatch> match_path(std::string_view path, std::string_view pattern) {
  const size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) {
    return path == pattern ? std::optional(PathMatch{{}, pattern.size()}) : std::nullopt;
  }
  const std::string_view before = pattern.substr(0, brace), after = pattern.substr(pattern.find('}') + 1);
  const size_t n_fixed = before.size() + after.size();
  const bool is_one = path.size() > n_fixed && path.starts_with(before) && path.ends_with(after);
  return is_one ? std::optional(PathMatch{path.substr(before.size(), path.size() - n_fixed), n_fixed}) : std::nullopt;
}

// How many ids of each kind a body may hold for this model.
IdLimits id_limits(const ServedModel& model) {
  return {model.loaded->info.n_ctx, max_text_bytes(model)};
}

// Lets go of the body's bytes as soon as they are parsed.
Result<Prepared> prepare_body(Call& call, const ServedModelPtr& model, Prepare prepare) {
  RZ_TRY(const Json body, parse_json(std::exchange(call.body, nullptr)->bytes, id_limits(*model)));
  if (!body.is_object()) return invalid_argument("the body is not a JSON object");
  call.record->warning = field_warnings(body);
  return prepare(body, model, call);
}

void prepare_on_worker(Call call, const ServedModelPtr& model, Prepare prepare) {
  const auto prepared = std::make_shared<Result<Prepared>>(Prepared{});
  const size_t n_bytes = call.body->bytes.size();
  on_worker(
      std::move(call), n_bytes,
      [model, prepare, prepared](Call& reading) { *prepared = prepare_body(reading, model, prepare); },
      [model, prepared](Call ready) {
        if (!prepared->ok()) return fail(*ready.reply, prepared->error());
        (*prepared)->respond(std::move(ready), model);
      });
}

// 503 while the first model is loading: a balancer should send its clients elsewhere.
bool is_starting(const Call& call, const std::string& name) {
  const ModelRegistry& models = call.context.models;
  const auto* entry = models.find(name);
  return !models.any_ready() && entry == &models.entries().front() && entry->state == ModelRegistry::State::kLoading;
}

void find_model(Call call, const std::string& name, Prepare prepare) {
  if (is_starting(call, name)) {
    return call.reply->send(error_response({503, "the model is loading", "", "model_loading"}));
  }
  ModelRegistry& models = call.context.models;
  const auto asking = call.reply;
  auto go_on = [call = std::move(call), prepare](const Result<ServedModelPtr>& model) mutable {
    const auto reply = call.reply;
    if (reply->is_closed()) return;
    if (!model.ok()) return fail(*reply, model.error());
    answering(*reply, [&] { prepare_on_worker(std::move(call), *model, prepare); });
  };
  const uint64_t ticket = models.acquire(name, std::move(go_on));
  asking->on_closed = [&models, ticket] { models.forget(ticket); };
}

ApiError not_decoded(DecodedBody::End end, size_t max_bytes) {
  switch (end) {
    case DecodedBody::End::kTooLarge:
      return {413, fmt::format("the body is larger than {} bytes when it is decoded", max_bytes), "", ""};
    case DecodedBody::End::kNoRoom:
      return {503, kNoBodyRoom, "", ""};
    default:
      return bad_request("the body is not what its Content-Encoding says");
  }
}

// What a small body decodes to may be large: such a body is decoded again, where large ones are.
void decode(Call call, BodyCoding coding, size_t n_work_bytes, std::function<void(Call)> then) {
  const size_t most = call.context.options.http.max_body_bytes;
  const bool is_small = n_work_bytes <= WorkPool::kSmallBytes;
  const size_t max_bytes = is_small ? std::min(most, WorkPool::kSmallBytes) : most;
  const auto decoded = std::make_shared<DecodedBody>();
  on_worker(
      std::move(call), n_work_bytes,
      [decoded, coding, max_bytes](Call& reading) {
        *decoded = decode_body(reading.body->bytes, coding, max_bytes, reading.body->share);
      },
      [decoded, coding, most, max_bytes, then](Call ready) {
        if (decoded->end == DecodedBody::End::kTooLarge && max_bytes < most) {
          return decode(std::move(ready), coding, most, then);
        }
        if (decoded->end != DecodedBody::End::kWhole) {
          return ready.reply->send(error_response(not_decoded(decoded->end, most)));
        }
        ready.body->bytes = std::move(decoded->bytes);
        then(std::move(ready));
      });
}

// The body is read twice, for the model's name and then for all: what is parsed of it is there on one worker only, and
// the model says how much it may be.
void read_body(Call call, Prepare prepare) {
  const auto name = std::make_shared<Result<std::string>>("");
  const size_t n_bytes = call.body->bytes.size();
  on_worker(
      std::move(call), n_bytes, [name](const Call& reading) { *name = read_model_name(reading.body->bytes); },
      [name, prepare](Call named) {
        if (!name->ok()) return fail(*named.reply, name->error());
        find_model(std::move(named), name->value(), prepare);
      });
}

}  // namespace

RouteMatch find_route(std::string_view method, std::string_view path) {
  RouteMatch match;
  size_t n_fixed = 0;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const Route& route : kRoutes) {
    const auto found = match_path(without_version(path), without_version(route.path));
    if (!found || found->n_fixed < n_fixed) continue;
    if (found->n_fixed > n_fixed) match = {};
    n_fixed = found->n_fixed;
    match.allowed += std::string(route.method) + (route.method == std::string_view("GET") ? ", HEAD, " : ", ");
    if (wanted != route.method) continue;
    match.route = &route;
    match.path_id = percent_decoded(found->id);
  }
  if (!match.allowed.empty()) match.allowed += "OPTIONS";
  return match;
}

void on_worker(Call call, size_t n_body_bytes, std::function<void(Call&)> work, std::function<void(Call)> then) {
  HttpServer& http = call.context.http;
  Work task{call.client, n_body_bytes, nullptr};
  const auto shared = std::make_shared<Call>(std::move(call));
  task.task = [shared, work = std::move(work)] { work(*shared); };
  http.post_work(std::move(task), [shared, then = std::move(then)](const Status& status) {
    const auto reply = shared->reply;
    if (reply->is_closed()) return;
    if (!status.ok()) return fail(*reply, status.error());
    answering(*reply, [&] { then(std::move(*shared)); });
  });
}

void with_model(Call call, Prepare prepare) {
  const BodyCoding coding = body_coding(call.request->header("content-encoding")).value_or(BodyCoding::kIdentity);
  if (coding == BodyCoding::kIdentity) return read_body(std::move(call), prepare);
  const size_t n_bytes = call.body->bytes.size();
  decode(std::move(call), coding, n_bytes, [prepare](Call decoded) { read_body(std::move(decoded), prepare); });
}

Prepared respond_with(CompletionPlan plan) {
  auto shared = std::make_shared<CompletionPlan>(std::move(plan));
  return {[shared](Call call, ServedModelPtr model) {
    std::make_shared<Completion>(std::move(call), std::move(model), std::move(*shared))->start();
  }};
}

}  // namespace realizar::server
