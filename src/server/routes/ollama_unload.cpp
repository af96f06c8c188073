// POST /api/chat and /api/generate: a body that only wants its model unloaded is served without loading it first.
#include <nlohmann/json.hpp>

#include "server/call/context.h"
#include "server/dialects/ollama/ollama.h"
#include "server/http/body_coding.h"
#include "server/models/model_registry.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxUnloadBytes = 1024;  // of a body that says no more than that

bool holds_something(const Json& body, const char* field) {
  const Json value = body.value(field, Json());
  return !value.is_null() && !is_empty_text(value) && !(value.is_array() && value.empty());
}

// The model's name; "": the body wants something else, or is wrong.
std::string model_to_unload(const Call& call) {
  if (call.body.bytes.size() > kMaxUnloadBytes || call.request.count("content-encoding") > 0) return {};
  const auto body = parse_json(call.body.bytes);
  if (!body.ok() || !body->is_object()) return {};
  for (const char* field : {"messages", "prompt", "suffix"}) {
    if (holds_something(*body, field)) return {};
  }
  Fields fields(*body);
  const auto keep_alive = read_keep_alive(fields);
  const auto model = fields.text("model");
  const bool unloads = keep_alive && keep_alive->duration && keep_alive->duration->count() == 0;
  return fields.status().ok() && unloads ? model.value_or("") : std::string();
}

Json unloaded_json(const Call& call, const std::string& model) {
  Json json{{"model", model}, {"created_at", rfc3339(std::chrono::system_clock::now())}};
  if (call.protocol == &kOllamaChat) {
    json["message"] = {{"role", "assistant"}, {"content", ""}};
  } else {
    json["response"] = "";
  }
  json["done"] = true;
  json["done_reason"] = "unload";
  return json;
}

}  // namespace

Task<Status> with_ollama_model(Call& call) {
  const std::string name = model_to_unload(call);
  if (name.empty() || !request_context(call).may_set_keep_alive) return with_model(call);
  return unload_ollama_model(call);
}

Task<Status> unload_ollama_model(Call& call) {
  const std::string name = model_to_unload(call);
  const Result<std::string> id = ollama_model_id(request_context(call), name);
  if (!id.ok()) co_return id.error();
  call.context.models.keep_alive(*id, std::chrono::milliseconds(0));
  call.context.models.unload_idle();
  call.send({200, "application/json; charset=utf-8", dump(unloaded_json(call, name)), {}});
  co_return Status();
}

}  // namespace realizar::server
