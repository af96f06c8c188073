// GET /v1/models and /v1/models/{model} for clients of Anthropic's API (https://docs.claude.com/en/api/models-list).
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/printable.h"
#include "base/try.h"
#include "server/models/model_registry.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxPage = 1000;

// The models of a page, from a query: "limit=20&after_id=ID".
struct ModelPage {
  size_t limit = 20;
  std::string after_id, before_id;  // "": none
};

Result<size_t> read_page_limit(const std::string& text) {
  const auto limit = number_of<size_t>(text);
  if (limit && *limit >= 1 && *limit <= kMaxPage) return *limit;
  return wrong("limit", fmt::format("expected a whole number from 1 to {}, actual '{}'", kMaxPage, shown(text)));
}

Result<ModelPage> read_model_page(std::string_view query) {
  ModelPage page;
  for (const auto& [name, value] : query_fields(query)) {
    if (name == "limit") {
      RZ_TRY(page.limit, read_page_limit(value));
    }
    if (name == "after_id") page.after_id = value;
    if (name == "before_id") page.before_id = value;
  }
  if (page.after_id.empty() || page.before_id.empty()) return page;
  return wrong("before_id", "cannot be given together with after_id");
}

Result<size_t> place_of(std::span<const Json> models, const char* field, const std::string& id) {
  const auto found = std::ranges::find_if(models, [&](const Json& model) { return model["id"] == id; });
  if (found == models.end()) return wrong(field, "there is no model '" + shown(id) + "' in this list");
  return static_cast<size_t>(found - models.begin());
}

// A page before a model ends right before it, any other begins with the first model or after one; has_more reports
// models further in that direction.
Result<Json> page_json(std::span<const Json> models, const ModelPage& page) {
  size_t begin = 0, end = models.size();
  if (!page.after_id.empty()) {
    RZ_TRY(begin, place_of(models, "after_id", page.after_id));
    ++begin;
  }
  if (!page.before_id.empty()) {
    RZ_TRY(end, place_of(models, "before_id", page.before_id));
  }
  const bool has_more = end - begin > page.limit;
  if (has_more && page.before_id.empty()) end = begin + page.limit;
  if (has_more && !page.before_id.empty()) begin = end - page.limit;
  const auto listed = models.subspan(begin, end - begin);
  Json data = Json::array();
  for (const Json& model : listed) data.push_back(model);
  const Json first = data.empty() ? Json() : data.front()["id"], last = data.empty() ? Json() : data.back()["id"];
  return Json{{"data", std::move(data)}, {"has_more", has_more}, {"first_id", first}, {"last_id", last}};
}

// `id`: the model's, or that of one of its adapters. The context's size is only known when the model is loaded.
Json message_model_json(const ModelRegistry::Entry& entry, const std::string& id) {
  const auto created = std::chrono::floor<std::chrono::seconds>(entry.created);
  const Json n_ctx = entry.model == nullptr ? Json() : Json(entry.model->loaded->info.n_ctx);
  return {{"type", "model"},           {"id", id},
          {"display_name", id},        {"created_at", fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(created))},
          {"max_input_tokens", n_ctx}, {"max_tokens", n_ctx},
          {"capabilities", nullptr},   {"lifecycle", "active"},
          {"line", nullptr},           {"deprecated_at", nullptr},
          {"retires_at", nullptr}};
}

HttpResponse refused(const Call& call, const Error& reason) {
  ApiError error = to_api_error(reason);
  error.request_id = call.id;
  return message_error_response(error);
}

}  // namespace

HttpResponse get_message_models(const Call& call) {
  std::vector<Json> models;
  for (const auto& entry : call.context.models.entries()) models.push_back(message_model_json(entry, entry.source.id));
  for (const auto& entry : call.context.models.entries()) {
    for (const std::string& adapter : call.context.models.adapters_of(entry)) {
      models.push_back(message_model_json(entry, adapted_name(entry.source.id, adapter)));
    }
  }
  const auto page = read_model_page(call.request.query);
  if (!page.ok()) return refused(call, page.error());
  const auto json = page_json(models, *page);
  return json.ok() ? json_response(*json) : refused(call, json.error());
}

HttpResponse get_message_model(const Call& call) {
  const ModelRegistry& models = call.context.models;
  if (const auto* entry = models.find_named(call.path_id)) {
    return json_response(message_model_json(*entry, entry->source.id));
  }
  const std::string adapter = models.adapter_of(call.path_id);
  if (adapter.empty()) return refused(call, models.no_such_model(call.path_id));
  const auto& entry = *models.find(call.path_id);
  return json_response(message_model_json(entry, adapted_name(entry.source.id, adapter)));
}

}  // namespace realizar::server
