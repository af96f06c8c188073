#include "server/routes.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

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

// The model's name in the body; "" where none is given.
Result<std::string> model_name(const Json& body) {
  if (!body.is_object()) return invalid_argument("the body is not a JSON object");
  Fields fields(body);
  std::string name = fields.text("model").value_or("");
  if (!fields.status().ok()) return fields.status().error();
  return name;
}

void prepare_on_worker(Call call, std::shared_ptr<Json> body, ServedModelPtr model, Prepare prepare) {
  HttpServer& http = call.context.http;
  http.post_work([call = std::move(call), body = std::move(body), model = std::move(model), prepare]() mutable {
    auto prepared = std::make_shared<Result<Prepared>>(prepare(*body, model, call));
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

void find_model(Call call, std::shared_ptr<Json> body, const std::string& name, Prepare prepare) {
  if (is_starting(call, name)) {
    return call.reply->send(error_response({503, "the model is loading", "", "model_loading"}));
  }
  ModelRegistry& models = call.context.models;
  models.acquire(name, [call = std::move(call), body = std::move(body), prepare](Result<ServedModelPtr> model) mutable {
    if (call.reply->is_closed()) return;
    if (!model.ok()) return refuse(call, model.error());
    prepare_on_worker(std::move(call), std::move(body), std::move(*model), prepare);
  });
}

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

void with_model(Call call, Prepare prepare) {
  HttpServer& http = call.context.http;
  http.post_work([call = std::move(call), prepare]() mutable {
    auto parsed = std::make_shared<Result<Json>>(parse_json(call.request->body));
    auto name = std::make_shared<Result<std::string>>(parsed->ok() ? model_name(parsed->value())
                                                                   : Result<std::string>(parsed->error()));
    HttpServer& server = call.context.http;
    server.post([call = std::move(call), parsed, name, prepare]() mutable {
      if (!name->ok()) return refuse(call, name->error());
      find_model(std::move(call), std::make_shared<Json>(std::move(parsed->value())), name->value(), prepare);
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
