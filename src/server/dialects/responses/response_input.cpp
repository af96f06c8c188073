#include "server/dialects/responses/response_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/response_store.h"
#include "server/dialects/responses/response_items.h"
#include "server/dialects/responses/responses_writer.h"

namespace realizar::server {
namespace {

bool is_parts(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& part) {
           return part.is_object() && part.value("type", Json()).is_string();
         });
}

std::string texts_in(const Json& parts, std::string_view between) {
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

class Messages {
 public:
  explicit Messages(ResponseReading& reading) : reading_(reading) {}

  void add(ChatMessage message) {
    list().push_back(std::move(message));
    attach_reasoning();
  }

  Status add_item(const Json& item, const std::string& place) {
    RZ_TRY(
        ChatMessage message,
        read_chat_message({{"role", item.value("role", Json())}, {"content", item.value("content", Json())}}, place));
    add(std::move(message));
    return {};
  }

  // The name under which the model sees the tool that the item calls.
  std::string tool_name(const Json& item, const Json& name) const {
    const Json space = item.value("namespace", Json());
    return reading_.tool_names.find(space.is_string() ? space.get<std::string>() : "", name.get<std::string>());
  }

  // Consecutive calls, and calls after the assistant's text, belong to one message.
  void add_call(const Json& id, std::string name, const Json& arguments) {
    if (list().empty() || !can_call(list().back())) add({Role::kAssistant, ""});
    list().back().calls.push_back(function_call(id, std::move(name), arguments));
    attach_reasoning();
  }

  Status add_result(const Json& id, const Json& output, const std::string& place) {
    const bool is_content = is_parts(output) || output.is_string();
    RZ_TRY(std::string content,
           read_content(is_content ? output : Json(dump(output)), place + ".output", /*is_result=*/true));
    add(tool_result(id, std::move(content)));
    return {};
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
  std::vector<ChatMessage>& list() { return reading_.chat.messages; }

  // Whether the next call belongs to this message. Reasoning between two calls stays between them.
  bool can_call(const ChatMessage& message) const {
    const bool has_thought = !message.calls.empty() || !message.reasoning.empty();
    return message.role == Role::kAssistant && (reasoning_.empty() || !has_thought);
  }

  void attach_reasoning() {
    if (reasoning_.empty() || list().back().role != Role::kAssistant) return;
    list().back().reasoning = std::exchange(reasoning_, std::string());
  }

  ResponseReading& reading_;
  std::string reasoning_;
};

Json call_id_of(const Json& item) {
  const Json id = item.value("call_id", Json());
  return id.is_null() ? item.value("id", Json()) : id;
}

// Calls of tools other than functions: what replaces a function's name and arguments.
struct OwnCall {
  std::string_view type;
  const char* name;       // null: the item's name
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
  messages.add_call(call_id_of(item), messages.tool_name(item, name), arguments);
  const bool has_result = call.type == "mcp_call" && item.contains("output");
  return has_result ? messages.add_result(item.value("id", Json()), item["output"], place) : Status();
}

// Whether an item belongs to a hosted tool, which does not exist here.
bool is_hosted(std::string_view type) {
  return type.ends_with("_call") || type.ends_with("_output") || type.starts_with("mcp_") || type == "compaction";
}

Status add_item(const Json& item, const std::string& place, Messages& messages) {
  if (!item.is_object()) return wrong(place, "expected an object");
  const Json named = item.value("type", Json("message"));
  if (!named.is_string()) return wrong(place + ".type", "expected a string");
  const auto& type = named.get_ref<const std::string&>();
  const auto* own = std::ranges::find(kOwnCalls, std::string_view(type), &OwnCall::type);
  if (type == "message") return messages.add_item(item, place);
  if (own != kOwnCalls.end()) return add_call(*own, item, place, messages);
  if (std::ranges::find(kResults, type) != kResults.end()) {
    return messages.add_result(call_id_of(item), item.value("output", Json()), place);
  }
  if (type == "reasoning") {
    messages.add_reasoning(item);
  } else if (!is_hosted(type)) {
    return wrong(place + ".type",
                 "expected message, function_call, function_call_output, reasoning, item_reference or "
                 "another item of the Responses API, actual '" +
                     shown(type) + "'");
  }
  return {};
}

// Collects items: those of earlier responses, references to them, and the request's own.
class Items {
 public:
  Items(ResponseStore& store, uint64_t tenant, Messages& messages)
      : store_(store), tenant_(tenant), messages_(messages) {}

  // The items of a response and of all responses before it, oldest first.
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

  // Replaces each reference with the item it refers to.
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
      "Responses are only stored for a while, and for the key that requested them: send all items, or set store to "
      "false";

  // An item with only an id is a reference too.
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
  std::map<std::string, Json> items_;  // of referenced responses
};

Result<Json> input_items(const Json& input) {
  if (input.is_string()) return Json::array({Json{{"type", "message"}, {"role", "user"}, {"content", input}}});
  if (input.is_array()) return input;
  return wrong("input", "expected a string or an array of items");
}

// Instructions, the items of earlier responses, and the request's own.
Status read_items(Fields& body, ResponseReading& into) {
  const auto instructions = body.text("instructions");
  const auto previous_id = body.text("previous_response_id");
  if (!body.status().ok()) return body.status();
  if (const Json* input = body.any("input")) {
    RZ_TRY(into.input, input_items(*input));
  }
  Messages messages(into);
  if (instructions) messages.add({Role::kSystem, *instructions});
  Items items(*into.context.responses, into.context.tenant, messages);
  if (previous_id) RZ_CHECK_OK(items.add_history(*previous_id));
  RZ_CHECK_OK(items.add_own(into.input));
  if (into.chat.messages.empty()) return wrong("input", "expected at least one message");
  return {};
}

Status read_text_format(Fields& text, ResponseReading& into) {
  if (!text.json().contains("format")) return {};
  constexpr const char* where = "text.format";
  const Json& format = text.json()["format"];
  into.form.emplace();
  if (format.is_null()) return {};
  const bool is_schema = format.is_object() && format.value("type", Json()) == "json_schema";
  RZ_TRY(into.form, is_schema ? read_named_schema(format, where) : read_response_form(format, where));
  return {};
}

Status read_effort(Fields& reasoning, ResponseReading& into) {
  into.chat.reasoning.effort = reasoning.text("effort");
  if (into.chat.reasoning.effort) into.chat.effort_field = "reasoning.effort";
  return {};
}

// Refuses fields that would change the answer and are not supported.
Status refuse_conversation(Fields& body, const char* name, ResponseReading&) {
  return body.wrong(name, "this server keeps responses, not conversations: use previous_response_id");
}
Status refuse_stored_prompt(Fields& body, const char* name, ResponseReading&) {
  return body.wrong(name, "this server has no stored prompts");
}
Status check_one_answer(Fields& body, const char* name, ResponseReading&) {
  body.integer(name, 1, 1);
  return body.status();
}

constexpr Field<ResponseReading> kInputFields[] = {
    {"conversation", refuse_conversation},
    {"prompt", refuse_stored_prompt},
    {"n", check_one_answer},
    {"n_predict", by<read_max_tokens<-2>>},
    {"max_output_tokens", by<read_max_tokens<-1>>},
    {"text", of_object<read_text_format>},
    {"reasoning", of_object<read_effort>},
    {"tools", read_response_tools},
    {"tool_choice", read_response_choice},
    {"parallel_tool_calls", take_flag<&ResponseReading::chat, &ChatRequest::parallel_calls>},
    {"continue_final_message", take_flag<&ResponseReading::chat, &ChatRequest::continues_last>},
    {"instructions", apart},
    {"previous_response_id", apart},
    {"input", apart},
};
constexpr Field<ResponseReading> kResponseAnswerFields[] = {
    {"model", apart},
    {"stop", by<read_stop>},
    {"stream_options", of_object<read_stream_options>},
};

}  // namespace

ResponseReading::ResponseReading(const ServedModel& served, const RequestContext& asked) : ChatReading(served, asked) {
  chat.messages_field = "input";
}

Status read_response_input(Fields& body, ResponseReading& into) {
  RZ_CHECK_OK(read_fields(kInputFields, body, into));
  RZ_CHECK_OK(read_items(body, into));
  return read_chat_fields(body, into);
}

Status read_whole_response(Fields& body, ResponseReading& into) {
  RZ_CHECK_OK(read_response_input(body, into));
  RZ_CHECK_OK(read_fields(kResponseAnswerFields, body, into));
  RZ_CHECK_OK(read_common_fields(body, into));
  return into.finish();
}

KnownFields response_fields() {
  return known_in(kInputFields, kResponseAnswerFields, common_fields(), chat_fields());
}

}  // namespace realizar::server
