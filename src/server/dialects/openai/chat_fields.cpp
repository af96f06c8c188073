#include "server/dialects/openai/chat_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"
#include "server/call/chat_tools.h"

namespace realizar::server {
namespace {

bool has_member(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) && !object[name].is_null();
}

// Calls in the oldest format have no ids; a result belongs to the last call before it.
Result<ChatMessage> read_openai_message(Json message, const std::string& where, size_t& n_calls) {
  const bool is_result = has_member(message, "role") && message["role"] == "function";
  const bool is_call = has_member(message, "function_call") && !has_member(message, "tool_calls");
  if (is_result) message["role"] = "tool";
  const Json call = is_call ? std::exchange(message["function_call"], Json()) : Json();
  if (is_call) message.erase("function_call");
  RZ_TRY(ChatMessage read, read_chat_message(std::move(message), where));
  if (is_call) {
    const bool has_name = has_member(call, "name") && call["name"].is_string();
    if (!has_name) return wrong(where + ".function_call", "expected an object with a name");
    read.calls.push_back(
        function_call(fmt::format("call_{}", ++n_calls), call["name"], call.value("arguments", Json())));
  }
  if (is_result) read.tool_call_id = fmt::format("call_{}", n_calls);
  return read;
}

Status read_openai_messages(Fields& body, const char* name, OpenAiChat& into) {
  const Json* messages = body.array(name);
  if (messages == nullptr) return body.status();
  if (messages->empty()) return body.wrong(name, "expected at least one message");
  size_t n_calls = 0;
  for (size_t i = 0; i < messages->size(); ++i) {
    RZ_TRY(into.chat.messages.emplace_back(),
           read_openai_message((*messages)[i], fmt::format("{}[{}]", name, i), n_calls));
  }
  return {};
}

// Cursor's agents send the items and tools of the Responses API to chat completions.
Status read_input_item(const Json& item, const std::string& where, std::vector<ChatMessage>& messages) {
  if (!item.is_object()) return wrong(where, "expected an object");
  const Json type = item.value("type", Json("message"));
  if (type == "message") {
    RZ_TRY(messages.emplace_back(), read_chat_message(item, where));
  } else if (type == "function_call") {
    const bool has_name = has_member(item, "name") && item["name"].is_string();
    if (!has_name) return wrong(where + ".name", "expected a string");
    if (messages.empty() || messages.back().role != Role::kAssistant) messages.push_back({Role::kAssistant, ""});
    messages.back().calls.push_back(
        function_call(item.value("call_id", Json()), item["name"], item.value("arguments", Json())));
  } else if (type == "function_call_output") {
    RZ_TRY(std::string content, read_content(item.value("output", Json()), where + ".output", /*is_result=*/true));
    messages.push_back(tool_result(item.value("call_id", Json()), std::move(content)));
  } else if (type != "reasoning") {
    return wrong(where + ".type", "expected message, function_call, function_call_output or reasoning");
  }
  return {};
}

Status read_input_items(Fields& body, const char* name, OpenAiChat& into) {
  if (!into.chat.messages.empty()) return body.wrong(name, "cannot be given together with messages");
  const Json& input = *body.any(name);
  if (input.is_string()) into.chat.messages.push_back({Role::kUser, input.get<std::string>()});
  if (input.is_string()) return {};
  if (!input.is_array()) return body.wrong(name, "expected a string or an array of items");
  for (size_t i = 0; i < input.size(); ++i) {
    RZ_CHECK_OK(read_input_item(input[i], fmt::format("{}[{}]", name, i), into.chat.messages));
  }
  return {};
}

Status read_openai_tool(const Json& tool, const std::string& where, std::vector<ChatTool>& tools) {
  if (!tool.is_object()) return wrong(where, "expected an object");
  const Json type = tool.value("type", Json("function"));
  if (!type.is_string()) return wrong(where + ".type", "expected a string");
  if (type == "custom") {
    RZ_TRY(tools.emplace_back(), read_custom_tool(tool.value("custom", Json()), where + ".custom"));
  } else if (type == "function" && !tool.contains("function") && tool.contains("name")) {
    Json function = tool;
    function.erase("type");
    RZ_TRY(tools.emplace_back(), read_function_tool({{"type", type}, {"function", std::move(function)}}, where));
  } else if (type == "function") {
    RZ_TRY(tools.emplace_back(), read_function_tool(tool, where + ".function"));
  }
  return {};
}

Status read_functions(Fields& body, const char* name, OpenAiChat& into) {
  if (body.any("tools") != nullptr) return body.wrong(name, "cannot be given together with tools");
  const Json& functions = *body.any(name);
  if (!functions.is_array()) return body.wrong(name, "expected an array");
  for (size_t i = 0; i < functions.size(); ++i) {
    const Json& function = functions[i];
    const std::string where = fmt::format("{}[{}]", name, i);
    const bool has_name = has_member(function, "name") && function["name"].is_string();
    if (!has_name) return wrong(where + ".name", "expected a string");
    RZ_TRY(into.chat.tools.tools.emplace_back(),
           read_function_tool(Json{{"type", "function"}, {"function", function}}, where));
  }
  into.chat.tools.field = name;
  into.chat.parallel_calls = false;
  into.has_functions = true;
  return {};
}

Status read_openai_choice(Fields& body, const char* name, OpenAiChat& into) {
  RZ_TRY(into.tool_choice, read_tool_choice(*body.any(name), name));
  return {};
}

Status read_function_choice(Fields& body, const char* name, OpenAiChat& into) {
  if (body.any("tool_choice") != nullptr) return body.wrong(name, "cannot be given together with tool_choice");
  const Json& choice = *body.any(name);
  ToolChoice& read = into.tool_choice;
  read.field = name;
  if (choice == "auto") return {};
  read.mode = choice == "none" ? ToolChoice::Mode::kNone : ToolChoice::Mode::kRequired;
  if (choice == "none") return {};
  const bool has_name = has_member(choice, "name") && choice["name"].is_string();
  if (!has_name) return body.wrong(name, "expected none, auto or {name}");
  read.only = choice["name"].get<std::string>();
  return {};
}

// An answer makes at most one call from `functions`.
Status read_parallel(Fields& body, const char* name, OpenAiChat& into) {
  if (!into.has_functions) into.chat.parallel_calls = body.boolean(name).value_or(true);
  return body.status();
}

constexpr Field<OpenAiChat> kFunctionFields[] = {
    {"functions", read_functions},
    {"function_call", read_function_choice},
};
constexpr Field<OpenAiChat> kOpenAiChatFields[] = {
    {"tools", of_list<read_openai_tools>},
    {"parallel_tool_calls", read_parallel},
    {"tool_choice", read_openai_choice},
    {"messages", read_openai_messages},
    {"input", read_input_items},
    {"continue_final_message", take_flag<&OpenAiChat::chat, &ChatRequest::continues_last>},
};

}  // namespace

Status read_openai_tools(const Json& tools, const char* name, ChatReading& into) {
  for (size_t i = 0; i < tools.size(); ++i) {
    RZ_CHECK_OK(read_openai_tool(tools[i], fmt::format("{}[{}]", name, i), into.chat.tools.tools));
  }
  return {};
}

Status read_function_fields(Fields& body, OpenAiChat& into) {
  return read_fields(kFunctionFields, body, into);
}

Status read_openai_chat(Fields& body, OpenAiChat& into) {
  RZ_CHECK_OK(read_fields(kOpenAiChatFields, body, into));
  if (into.chat.messages.empty()) return wrong("messages", "expected an array, actual nothing");
  return read_chat_fields(body, into);
}

KnownFields openai_chat_fields() {
  return known_in(kOpenAiChatFields, chat_fields());
}

KnownFields function_fields() {
  return known_in(kFunctionFields);
}

}  // namespace realizar::server
