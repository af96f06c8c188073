#include "server/dialects/responses/response_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/request_fields.h"
#include "server/http/http.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxListed = 100;

const char* id_prefix(std::string_view type) {
  if (type == "message") return "msg_";
  if (type == "reasoning") return "rs_";
  if (type.ends_with("_output")) return "fco_";
  return type.ends_with("_call") ? "fc_" : "item_";
}

// A message's text as its only part.
Json parts_of(Json text, const Json& role) {
  Json part{{"type", role == "assistant" ? "output_text" : "input_text"}, {"text", std::move(text)}};
  if (role == "assistant") part["annotations"] = Json::array();
  return Json::array({std::move(part)});
}

Json completed(Json item) {
  Json type = item.value("type", Json());
  if (type.is_null()) type = "message";
  Json id = item.value("id", Json());
  if (!id.is_string() || id.get_ref<const std::string&>().empty())
    id = random_id(id_prefix(type.get_ref<const std::string&>()));
  Json whole{{"id", std::move(id)}, {"type", std::move(type)}};
  for (auto& [name, value] : item.items()) {
    if (name != "id" && name != "type") whole[name] = std::move(value);
  }
  const auto content = whole.find("content");
  if (whole["type"] == "message" && content != whole.end() && content->is_string()) {
    *content = parts_of(std::move(*content), whole.value("role", Json()));
  }
  if (whole.value("status", Json()).is_null()) whole["status"] = "completed";
  return whole;
}

Status read_pair(const std::string& name, const std::string& value, ItemsQuery& query) {
  if (name == "limit") {
    const char* last = value.data() + value.size();
    const auto [end, error] = std::from_chars(value.data(), last, query.limit);
    if (error != std::errc() || end != last || query.limit < 1 || query.limit > kMaxListed) {
      return wrong("limit", fmt::format("expected a whole number from 1 to {}, actual '{}'", kMaxListed, shown(value)));
    }
  } else if (name == "order") {
    if (value != "asc" && value != "desc") return wrong("order", "expected asc or desc, actual '" + shown(value) + "'");
    query.is_ascending = value == "asc";
  } else if (name == "after") {
    query.after = value;
  }
  return {};
}

}  // namespace

std::vector<std::string> complete_items(Json& items) {
  std::vector<std::string> ids;
  for (Json& item : items) {
    const Json before = item.value("id", Json());
    item = completed(std::move(item));
    if (item["id"] != before) ids.push_back(item["id"].get<std::string>());
  }
  return ids;
}

Result<Json> items_of(const StoredResponse& stored) {
  RZ_TRY(Json items, parse_json(stored.input));
  RZ_TRY(Json response, parse_json(stored.response));
  for (Json& item : response["output"]) items.push_back(std::move(item));
  return items;
}

Result<Json> input_items_of(const std::vector<StoredResponsePtr>& chain) {
  Json all = Json::array();
  for (const StoredResponsePtr& stored : chain) {
    RZ_TRY(Json items, stored == chain.back() ? parse_json(stored->input) : items_of(*stored));
    for (Json& item : items) all.push_back(std::move(item));
  }
  return all;
}

Result<ItemsQuery> read_items_query(std::string_view query) {
  ItemsQuery read;
  for (const auto& [name, value] : query_fields(query)) RZ_CHECK_OK(read_pair(name, value, read));
  return read;
}

Result<Json> list_items(const Json& items, const ItemsQuery& query) {
  std::vector<const Json*> ordered;
  for (const Json& item : items) ordered.push_back(&item);
  if (!query.is_ascending) std::reverse(ordered.begin(), ordered.end());
  auto from = ordered.begin();
  if (!query.after.empty()) {
    from = std::find_if(from, ordered.end(), [&](const Json* item) { return (*item)["id"] == query.after; });
    if (from == ordered.end()) return wrong("after", "there is no item '" + shown(query.after) + "' in this list");
    ++from;
  }
  Json data = Json::array();
  for (; from != ordered.end() && data.size() < query.limit; ++from) data.push_back(**from);
  const Json first = data.empty() ? Json() : data.front()["id"], last = data.empty() ? Json() : data.back()["id"];
  return Json{{"object", "list"},
              {"data", std::move(data)},
              {"first_id", first},
              {"last_id", last},
              {"has_more", from != ordered.end()}};
}

}  // namespace realizar::server
