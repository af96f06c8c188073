#include "server/dialects/responses/response_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/request_fields.h"
#include "server/http/http.h"
#include "text/output/tool_spec.h"

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
    query.limit = number_of<size_t>(value).value_or(0);
    if (query.limit < 1 || query.limit > kMaxListed) {
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

// mcp__files and read give mcp__files__read. Valid function names give valid joined names, whatever the namespace.
std::string joined_name(std::string_view space, std::string_view name) {
  if (space.empty()) return std::string(name);
  std::string joined;
  for (const char c : space) joined += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  if (!joined.ends_with("__")) joined += "__";
  return joined.append(name).substr(0, text::kMaxToolNameBytes);
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

std::string ToolNames::add(std::string_view space, std::string_view name) {
  const std::string plain = joined_name(space, name);
  std::string joined = plain;
  for (int i = 2; !space.empty() && is_taken(joined); ++i) {
    const std::string suffix = fmt::format("_{}", i);
    joined = plain.substr(0, text::kMaxToolNameBytes - suffix.size()) + suffix;
  }
  entries_.push_back({{std::string(space), std::string(name)}, joined});
  return joined;
}

std::string ToolNames::find(std::string_view space, std::string_view name) const {
  const auto entry = std::ranges::find_if(
      entries_, [&](const Entry& one) { return one.parts.space == space && one.parts.name == name; });
  if (entry != entries_.end()) return entry->joined;
  if (!space.empty() || is_taken(name)) return joined_name(space, name);
  const auto inner = std::ranges::find_if(entries_, [&](const Entry& one) { return one.parts.name == name; });
  return inner == entries_.end() ? std::string(name) : inner->joined;
}

ToolNames::Parts ToolNames::parts_of(std::string_view joined) const {
  const auto entry = std::ranges::find_if(entries_, [&](const Entry& one) { return one.joined == joined; });
  return entry == entries_.end() ? Parts{"", std::string(joined)} : entry->parts;
}

bool ToolNames::is_taken(std::string_view joined) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.joined == joined; });
}

}  // namespace realizar::server
