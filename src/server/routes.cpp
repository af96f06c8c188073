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
    {"POST", "/tokenize", post_tokenize},
    {"POST", "/detokenize", post_detokenize},
    {"POST", "/apply-template", post_apply_template},
    {"GET", "/livez", get_livez, false},
    {"GET", "/readyz", get_readyz, false},
    {"GET", "/health", get_health, false},
    {"GET", "/metrics", get_metrics},
    {"GET", "/", get_page, false},
};

void refuse(const Call& call, const Error& error) {
  call.reply->send(error_response(to_api_error(error)));
}

void work_on(const Call& call, std::function<void()> task) {
  call.context.http.post_work({call.client, call.body->bytes.size(), std::move(task)});
}

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

void prepare_on_worker(Call call, ServedModelPtr model, Prepare prepare) {
  work_on(call, [call, model = std::move(model), prepare]() mutable {
    auto prepared = std::make_shared<Result<Prepared>>(prepare_body(call, model, prepare));
    HttpServer& server = call.context.http;
    server.post([call = std::move(call), model = std::move(model), prepared]() mutable {
      if (call.reply->is_closed()) return;
      if (!prepared->ok()) return refuse(call, prepared->error());
      (*prepared)->respond(std::move(call), std::move(model));
    });
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
  models.acquire(name, [call = std::move(call), prepare](Result<ServedModelPtr> model) mutable {
    if (call.reply->is_closed()) return;
    if (!model.ok()) return refuse(call, model.error());
    prepare_on_worker(std::move(call), std::move(*model), prepare);
  });
}

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

// The body is read twice, for the model's name and then for all: what is parsed of it is there on one worker only, and
// the model says how much it may be.
void with_model(Call call, Prepare prepare) {
  work_on(call, [call, prepare]() mutable {
    auto name = std::make_shared<Result<std::string>>(read_model_name(call.body->bytes));
    HttpServer& server = call.context.http;
    server.post([call = std::move(call), name, prepare]() mutable {
      if (!name->ok()) return refuse(call, name->error());
      find_model(std::move(call), name->value(), prepare);
    });
  });
}

Prepared respond_with(CompletionPlan plan) {
  auto shared = std::make_shared<CompletionPlan>(std::move(plan));
  return {[shared](Call call, ServedModelPtr model) {
    std::make_shared<Completion>(std::move(call), std::move(model), std::move(*shared))->start();
  }};
}

}  // namespace realizar::server
