#include "server/dialects/ollama/ollama.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "server/models/model_aliases.h"

namespace realizar::server {

HttpResponse ollama_error(const ApiError& error) {
  HttpResponse response = error_response(error);      // for its headers
  if (response.status == 429) response.status = 503;  // the status that its clients expect for a full queue
  response.body = dump({{"error", bounded(error.message)}});
  return response;
}

std::string ollama_error_line(const ApiError& error) {
  return ollama_error(error).body + "\n";
}

std::string rfc3339(std::chrono::system_clock::time_point time) {
  const auto since = time.time_since_epoch();
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(since).count();
  const std::time_t s = us / 1'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(s), us % 1'000'000);
}

Json empty_ollama_answer(const std::string& model, bool is_chat, const char* role) {
  Json json{{"model", model}, {"created_at", rfc3339(std::chrono::system_clock::now())}};
  if (is_chat) json["message"] = {{"role", role}, {"content", ""}};
  if (!is_chat) json["response"] = "";
  return json;
}

Error no_ollama_model(std::string_view name) {
  return not_found(fmt::format("model '{}' not found", shown(name)), "model");
}

Result<std::string> ollama_model_id(const RequestContext& context, const std::string& name) {
  if (!context.has_body) return invalid_argument("missing request body");
  if (name.empty()) return std::string();  // the protocol's reader reports the error
  if (const auto made = context.made->find(tenant_of(context.key), name)) return made->base;
  if (auto id = context.find_model(name)) return *std::move(id);
  return no_ollama_model(name);
}

void apply_keep_alive(const std::optional<KeepAlive>& wish, const ServedModel& model, const RequestContext& context) {
  if (wish && context.keep_alive) context.keep_alive(model.id, wish->duration);
}

}  // namespace realizar::server
