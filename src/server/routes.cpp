#include "server/routes.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/chat_prompt.h"

namespace realizar::server {
namespace {

constexpr Route kRoutes[] = {
    {"GET", "/v1/models", get_models},
    {"POST", "/v1/chat/completions", post_chat_completions},
    {"POST", "/v1/completions", post_completions},
    {"POST", "/v1/embeddings", post_embeddings},
    {"POST", "/v1/responses", post_responses},
    {"DELETE", "/cache", delete_cache},
    {"POST", "/tokenize", post_tokenize},
    {"POST", "/detokenize", post_detokenize},
    {"POST", "/apply-template", post_apply_template},
    {"GET", "/livez", get_livez, false},
    {"GET", "/readyz", get_readyz, false},
    {"GET", "/health", get_health, false},
    {"GET", "/metrics", get_metrics},
    {"GET", "/metrics/history", get_metrics_history},
    {"GET", "/", get_page, false},
    {"GET", "/manifest.webmanifest", get_manifest, false},
};

// How many ids of each kind a body may hold for this model.
IdLimits id_limits(const ServedModel& model) {
  return {model.loaded->info.n_ctx, max_text_bytes(model)};
}

// Lets go of the body's bytes as soon as they are parsed.
Result<Prepared> prepare_body(Call& call, const ServedModelPtr& model, Prepare prepare) {
  RZ_TRY(const Json body, parse_json(std::exchange(call.body, nullptr)->bytes, id_limits(*model)));
  if (!body.is_object()) return invalid_argument("the body is not a JSON object");
  return prepare(body, model, call);
}

void prepare_on_worker(Call call, const ServedModelPtr& model, Prepare prepare) {
  const auto prepared = std::make_shared<Result<Prepared>>(Prepared{});
  on_worker(
      std::move(call), [model, prepare, prepared](Call& reading) { *prepared = prepare_body(reading, model, prepare); },
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

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

void on_worker(Call call, std::function<void(Call&)> work, std::function<void(Call)> then) {
  HttpServer& http = call.context.http;
  Work task{call.client, call.body->bytes.size(), nullptr};
  const auto shared = std::make_shared<Call>(std::move(call));
  task.task = [shared, work = std::move(work)] { work(*shared); };
  http.post_work(std::move(task), [shared, then = std::move(then)](const Status& status) {
    const auto reply = shared->reply;
    if (reply->is_closed()) return;
    if (!status.ok()) return fail(*reply, status.error());
    answering(*reply, [&] { then(std::move(*shared)); });
  });
}

// The body is read twice, for the model's name and then for all: what is parsed of it is there on one worker only, and
// the model says how much it may be.
void with_model(Call call, Prepare prepare) {
  const auto name = std::make_shared<Result<std::string>>("");
  on_worker(
      std::move(call), [name](const Call& reading) { *name = read_model_name(reading.body->bytes); },
      [name, prepare](Call named) {
        if (!name->ok()) return fail(*named.reply, name->error());
        find_model(std::move(named), name->value(), prepare);
      });
}

Prepared respond_with(CompletionPlan plan) {
  auto shared = std::make_shared<CompletionPlan>(std::move(plan));
  return {[shared](Call call, ServedModelPtr model) {
    std::make_shared<Completion>(std::move(call), std::move(model), std::move(*shared))->start();
  }};
}

}  // namespace realizar::server
