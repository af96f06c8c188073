// Models that could be downloaded, for the chat page: POST /v1/models/search looks for them by words, POST
// /v1/models/choices tells what a repository has. Both ask a hub, as only who may change the store has this server do.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "hub/search.h"
#include "server/call/context.h"
#include "server/call/foreign_work.h"
#include "server/call/store_changes.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxQueryBytes = 200;
constexpr uint32_t kMaxHits = 30;  // of the hub

std::vector<std::string> words_of(const std::string& text) {
  constexpr const char* kSpaces = " \t\r\n";
  std::vector<std::string> words;
  for (size_t at = text.find_first_not_of(kSpaces); at != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpaces, end);
  }
  return words;
}

// Somebody looks at the page meanwhile.
hub::HubSettings quick_settings(const ModelStore& store) {
  hub::HubSettings settings = store.hub;
  hub::HttpSettings& http = settings.download.http;
  http.connect_timeout = std::min<std::chrono::milliseconds>(http.connect_timeout, hub::kAnswerTimeout);
  http.stall_timeout = http.connect_timeout;
  settings.download.n_retries = settings.download.n_reconnects = 0;
  return settings;
}

ApiError hub_error(const Error& error) {
  if (error.subject == kForeignSlots || !hub::may_pass(error)) return to_api_error(error);
  return {502, error.message, "", ""};
}

Json found_json(const hub::Found& found, bool is_offline) {
  Json models = Json::array();
  for (const hub::SearchHit& hit : found.hits) models.push_back(json_of(hit));
  Json json{{"models", std::move(models)}};
  if (is_offline) json["note"] = "--offline: only short names are searched, no hub is asked";
  if (!found.of_hub.ok()) json["note"] = bounded(found.of_hub.error().message);
  return json;
}

}  // namespace

// The rows of the table of short names are an answer also where the hub gives none; a note says why it did not.
Task<Status> post_models_search(Call& call, const Json& body) {
  if (refuse_store_change(call)) co_return Status();
  constexpr const char* kExpected = "expected words of a model's name";
  RZ_CO_TRY(const std::string query, required_text(body, "query", kExpected));
  std::vector<std::string> words = words_of(query);
  if (words.empty()) co_return wrong("query", kExpected);
  if (query.size() > kMaxQueryBytes) co_return wrong("query", fmt::format("expected at most {} bytes", kMaxQueryBytes));
  ForeignWork::Work work = [words = std::move(words),
                            store = call.context.options.store](const std::atomic<bool>& cancelled) -> Result<Json> {
    const hub::HubSettings settings = quick_settings(*store);
    return found_json(hub::search(words, kMaxHits, settings, cancelled), settings.offline);
  };
  Task<Status> answering = answer_by(call, std::move(work), *call.context.client_models->searches, hub_error);
  co_return co_await answering;
}

Task<Status> post_models_choices(Call& call, const Json& body) {
  if (refuse_store_change(call)) co_return Status();
  RZ_CO_TRY(const std::string given, required_text(body, "model", "expected the name of a model"));
  RZ_CO_TRY(const hub::ModelName name, name_to_pull(given));
  ForeignWork::Work work = [name,
                            store = call.context.options.store](const std::atomic<bool>& cancelled) -> Result<Json> {
    RZ_TRY(const auto models, hub::look_up_models(source_for_llama(name), quick_settings(*store), cancelled));
    Json list = Json::array();
    for (const hub::RepoModel& model : models) {
      list.push_back({{"name", hub::to_string(model.name)}, {"bytes", model.n_bytes}, {"is_usual", model.is_usual}});
    }
    return Json{{"models", std::move(list)}};
  };
  Task<Status> answering = answer_by(call, std::move(work), *call.context.client_models->searches, hub_error);
  co_return co_await answering;
}

}  // namespace realizar::server
