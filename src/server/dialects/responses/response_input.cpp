#include "server/dialects/responses/response_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "base/printable.h"
#include "base/try.h"
#include "server/dialects/responses/response_items.h"
#include "server/dialects/responses/response_speller.h"
#include "server/dialects/responses/response_tools.h"

namespace realizar::server {
namespace {

Json text_of(const Json& value) {
  return value.is_string() ? value : Json(dump(value));
}

bool is_parts(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& part) {
           return part.is_object() && part.value("type", Json()).is_string();
         });
}

// The messages of a chat under construction.
class Messages {
 public:
  explicit Messages(ResponseChat& chat) : chat_(chat) { chat_.body["messages"] = Json::array(); }

  void add(Json message, const std::string& place, const char* content = "content") {
    const std::string here = fmt::format("messages[{}]", list().size());
    chat_.places.emplace_back(here + ".content", place.empty() ? "" : place + "." + content);
    chat_.places.emplace_back(here, place);
    list().push_back(std::move(message));
    attach_reasoning();
  }

  // The name under which the model sees the tool that the item calls.
  std::string tool_name(const Json& item, const Json& name) const {
    const Json space = item.value("namespace", Json());
    return chat_.tool_names.find(space.is_string() ? space.get<std::string>() : "", name.get<std::string>());
  }

  // Calls that follow each other, or the assistant's text, are of one message.
  void add_call(const Json& id, const Json& name, const Json& arguments, const std::string& place) {
    if (list().empty() || !can_call(list().back())) add({{"role", "assistant"}, {"content", nullptr}}, place);
    const Json function{{"name", name}, {"arguments", arguments}};
    list().back()["tool_calls"].push_back({{"id", id}, {"type", "function"}, {"function", function}});
    attach_reasoning();
  }

  void add_result(const Json& id, const Json& output, const std::string& place) {
    const Json content = is_parts(output) ? output : text_of(output);
    add({{"role", "tool"}, {"tool_call_id", id}, {"content", content}}, place, "output");
  }

  // Belongs to the assistant's next message or call.
  void add_reasoning(const Json& item) {
    reasoning_ += texts_in(item.value("content", Json()), "");
    if (reasoning_.empty()) reasoning_ = texts_in(item.value("summary", Json()), "\n\n");
    const Json packed = item.value("encrypted_content", Json());
    if (reasoning_.empty() && packed.is_string()) {
      reasoning_ = unpacked_reasoning(packed.get_ref<const std::string&>()).value_or("");
    }
  }

 private:
  Json& list() { return chat_.body["messages"]; }

  static std::string texts_in(const Json& parts, std::string_view between) {
    std::string joined;
    if (!parts.is_array()) return joined;
    for (const Json& part : parts) {
      const Json text = part.is_object() ? part.value("text", Json()) : Json();
      if (!text.is_string()) continue;
      if (!joined.empty()) joined += between;
      joined += text.get_ref<const std::string&>();
    }
    return joined;
  }

  // Whether the next call is one of the message's. What the model thought between two calls stays between them.
  bool can_call(const Json& message) const {
    const bool has_thought = message.contains("tool_calls") || message.contains("reasoning_content");
    return message["role"] == "assistant" && (reasoning_.empty() || !has_thought);
  }

  void attach_reasoning() {
    if (reasoning_.empty() || list().back()["role"] != "assistant") return;
    list().back()["reasoning_content"] = std::exchange(reasoning_, std::string());
  }

  ResponseChat& chat_;
  std::string reasoning_;
};

Json call_id_of(const Json& item) {
  const Json id = item.value("call_id", Json());
  return id.is_null() ? item.value("id", Json()) : id;
}

// Calls that are no functions: what stands in the place of a function's name and arguments.
struct OwnCall {
  std::string_view type;
  const char* name;       // null: the item has it
  const char* arguments;  // the item's field
};
constexpr auto kOwnCalls = std::to_array<OwnCall>({
    {"function_call", nullptr, "arguments"},
    {"mcp_call", nullptr, "arguments"},
    {"custom_tool_call", nullptr, "input"},
    {"local_shell_call", "local_shell", "action"},
    {"shell_call", "shell", "action"},
    {"apply_patch_call", "apply_patch", "operation"},
});
constexpr std::array<std::string_view, 5> kResults = {"function_call_output", "custom_tool_call_output",
                                                      "local_shell_call_output", "shell_call_output",
                                                      "apply_patch_call_output"};

Status add_call(const OwnCall& call, const Json& item, const std::string& place, Messages& messages) {
  const Json name = call.name == nullptr ? item.value("name", Json()) : Json(call.name);
  if (!name.is_string()) return wrong(place + ".name", "expected a string");
  Json arguments = item.value(call.arguments, Json());
  if (call.type == "custom_tool_call") arguments = Json{{"input", arguments}};
  messages.add_call(call_id_of(item), messages.tool_name(item, name), arguments, place);
  if (call.type == "mcp_call" && item.contains("output")) {
    messages.add_result(item.value("id", Json()), item["output"], place);
  }
  return {};
}

// Whether an item belongs to a tool that runs where the model does, and so not here.
bool is_hosted(std::string_view type) {
  return type.ends_with("_call") || type.ends_with("_output") || type.starts_with("mcp_") || type == "compaction";
}

Status add_item(const Json& item, const std::string& place, Messages& messages) {
  if (!item.is_object()) return wrong(place, "expected an object");
  const Json named = item.value("type", Json("message"));
  if (!named.is_string()) return wrong(place + ".type", "expected a string");
  const auto& type = named.get_ref<const std::string&>();
  const auto* own = std::ranges::find(kOwnCalls, std::string_view(type), &OwnCall::type);
  if (type == "message") {
    messages.add({{"role", item.value("role", Json())}, {"content", item.value("content", Json())}}, place);
  } else if (own != kOwnCalls.end()) {
    return add_call(*own, item, place, messages);
  } else if (std::ranges::find(kResults, type) != kResults.end()) {
    messages.add_result(call_id_of(item), item.value("output", Json()), place);
  } else if (type == "reasoning") {
    messages.add_reasoning(item);
  } else if (!is_hosted(type)) {
    return wrong(place + ".type",
                 "expected message, function_call, function_call_output, reasoning, item_reference or "
                 "another item of the Responses API, actual '" +
                     shown(type) + "'");
  }
  return {};
}

// Puts items together: those of earlier responses, references to them, and the request's own.
class Items {
 public:
  Items(ResponseStore& store, uint64_t tenant, Messages& messages)
      : store_(store), tenant_(tenant), messages_(messages) {}

  // The items of a response and of all before it, the oldest first.
  Status add_history(const std::string& last_id) {
    const std::vector<StoredResponsePtr> chain = store_.find_chain(tenant_, last_id);
    const std::string& missing = chain.empty() ? last_id : chain.front()->previous_id;
    if (!missing.empty()) {
      return not_found("previous_response_id: there is no response '" + shown(missing) + "' here. " + kKept,
                       "previous_response_id");
    }
    for (const StoredResponsePtr& stored : chain) {
      if (!stored->is_over)
        return wrong("previous_response_id", "the response '" + stored->id + "' is still being made");
      RZ_TRY(const Json items, items_of(*stored));
      for (const Json& item : items) RZ_CHECK_OK(add_item(item, "previous_response_id", messages_));
    }
    return {};
  }

  // Puts in the place of each reference what it refers to.
  Status add_own(Json& items) {
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string place = fmt::format("input[{}]", i);
      if (const std::optional<std::string> id = referred_id(items[i])) {
        RZ_TRY(items[i], find(*id, place));
      }
      RZ_CHECK_OK(add_item(items[i], place, messages_));
    }
    return {};
  }

 private:
  static constexpr const char* kKept =
      "Responses are kept for a while only, and for the key that asked for them: send all items, or set store to false";

  // An item with an id alone is a reference too.
  static std::optional<std::string> referred_id(const Json& item) {
    if (!item.is_object()) return std::nullopt;
    const Json type = item.value("type", Json()), id = item.value("id", Json());
    const bool is_reference = type == "item_reference" || (type.is_null() && !item.contains("role"));
    return is_reference && id.is_string() ? std::optional(id.get<std::string>()) : std::nullopt;
  }

  Result<Json> find(const std::string& id, const std::string& place) {
    const StoredResponsePtr stored = store_.find_by_item(tenant_, id);
    if (stored == nullptr) {
      return not_found(place + ".id: there is no item '" + shown(id) + "' here. " + kKept, place + ".id");
    }
    auto parsed = items_.find(stored->id);
    if (parsed == items_.end()) {
      RZ_TRY(Json items, items_of(*stored));
      parsed = items_.emplace(stored->id, std::move(items)).first;
    }
    const auto item =
        std::ranges::find_if(parsed->second, [&](const Json& one) { return one.value("id", Json()) == id; });
    return *item;
  }

  ResponseStore& store_;
  uint64_t tenant_;
  Messages& messages_;
  std::map<std::string, Json> items_;  // of responses that were referred to
};

Result<Json> input_items(const Json& input) {
  if (input.is_string()) return Json::array({Json{{"type", "message"}, {"role", "user"}, {"content", input}}});
  if (input.is_array()) return input;
  if (input.is_null()) return Json::array();
  return wrong("input", "expected a string or an array of items");
}

void read_format(const Json& body, ResponseChat& chat) {
  const Json text = body.value("text", Json());
  if (!text.is_object() || !text.contains("format")) return;
  const Json& format = text["format"];
  const bool is_schema = format.is_object() && format.value("type", Json()) == "json_schema";
  chat.body["response_format"] = is_schema ? Json{{"type", "json_schema"}, {"json_schema", format}} : format;
  chat.places.emplace_back("response_format.json_schema", "text.format");
  chat.places.emplace_back("response_format", "text.format");
}

// Fields that change the answer and cannot be obeyed.
Status refuse_what_is_not_built(Fields& fields) {
  if (fields.any("conversation") != nullptr) {
    fields.fail("conversation", "this server keeps responses, not conversations: use previous_response_id");
  }
  if (fields.any("prompt") != nullptr) fields.fail("prompt", "this server has no stored prompts");
  if (fields.integer("n", 1, 1).value_or(1) != 1) fields.fail("n", "a response is one answer");
  return fields.status();
}

}  // namespace

Result<ResponseChat> chat_of_response(Fields& fields, ResponseStore& store, uint64_t tenant) {
  const Json& body = fields.json();
  RZ_CHECK_OK(refuse_what_is_not_built(fields));
  fields.integer("max_output_tokens", -1, INT32_MAX);
  for (const char* name : {"text", "reasoning"}) fields.object(name);
  const auto instructions = fields.text("instructions");
  const auto previous_id = fields.text("previous_response_id");
  if (!fields.status().ok()) return fields.status().error();

  ResponseChat chat;
  RZ_TRY(chat.input, input_items(body.value("input", Json())));
  for (const auto& [name, value] : body.items()) {
    if (name != "input" && name != "max_tokens" && name != "tools") chat.body[name] = value;
  }
  RZ_CHECK_OK(read_response_tools(body, chat));
  Messages messages(chat);
  if (instructions) messages.add({{"role", "system"}, {"content", *instructions}}, "instructions");
  Items items(store, tenant, messages);
  if (previous_id) RZ_CHECK_OK(items.add_history(*previous_id));
  RZ_CHECK_OK(items.add_own(chat.input));
  chat.places.emplace_back("messages", "input");

  chat.body["max_completion_tokens"] = body.value("max_output_tokens", Json());
  read_format(body, chat);
  const Json reasoning = body.value("reasoning", Json());
  if (reasoning.is_object() && reasoning.contains("effort")) chat.body["reasoning_effort"] = reasoning["effort"];
  chat.places.emplace_back("reasoning_effort", "reasoning.effort");
  return chat;
}

}  // namespace realizar::server
