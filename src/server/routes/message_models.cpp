// GET /v1/models and /v1/models/{model} for clients of Anthropic's API (https://docs.claude.com/en/api/models-list).
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/message_error.h"
#include "server/routes.h"

namespace realizar::server {
namespace {

Json message_model_json(const ModelRegistry::Entry& entry) {
  const auto created = std::chrono::floor<std::chrono::seconds>(entry.created);
  return {{"type", "model"},
          {"id", entry.source.id},
          {"display_name", entry.source.id},
          {"created_at", fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(created))}};
}

}  // namespace

HttpResponse get_message_models(const Call& call) {
  Json list = Json::array();
  for (const auto& entry : call.context.models.entries()) list.push_back(message_model_json(entry));
  const Json first = list.empty() ? Json() : list.front()["id"], last = list.empty() ? Json() : list.back()["id"];
  const Json json{{"data", std::move(list)}, {"has_more", false}, {"first_id", first}, {"last_id", last}};
  return {200, "application/json", dump(json), {}};
}

HttpResponse get_message_model(const Call& call) {
  if (const auto* entry = call.context.models.find_named(call.path_id)) {
    return {200, "application/json", dump(message_model_json(*entry)), {}};
  }
  ApiError error = to_api_error(call.context.models.no_such_model(call.path_id));
  error.request_id = call.id;
  return message_error_response(error);
}

}  // namespace realizar::server
