#include "server/call/chat_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {
namespace {

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant", "tool"};

std::string string_or_empty(const Json& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

// Moves a text out of an object, where it leaves an empty one; "" where there is none.
std::string take_text(Json& object, const char* name) {
  const auto found = object.find(name);
  const bool is_text = found != object.end() && found->is_string();
  return is_text ? std::exchange(found->get_ref<std::string&>(), {}) : std::string();
}

Result<std::string> text_of_part(const Json& part, const std::string& where) {
  if (!part.is_object() || !part.contains("type")) return wrong(where, "expected an object with a type");
  const Json& type = part["type"];
  const bool is_text = type == "text" || type == "input_text" || type == "output_text" || type == "refusal";
  if (!is_text) return wrong(where, fmt::format("this model takes text only, actual type {}", shown(dump(type))));
  const char* key = type == "refusal" ? "refusal" : "text";
  if (!part.contains(key) || !part[key].is_string()) return wrong(where, fmt::format("expected a string as {}", key));
  return part[key].get<std::string>();
}

// A call of a custom tool has text in place of arguments; templates know functions alone.
void make_function(Json& call) {
  const bool is_custom = call.is_object() && call.contains("custom") && call["custom"].is_object();
  if (!is_custom) return;
  const Json custom = std::move(call["custom"]);
  call.erase("custom");
  call["type"] = "function";
  call["function"] = {{"name", custom.value("name", Json())},
                      {"arguments", {{"input", custom.value("input", Json())}}}};
}

Result<ChatCall> read_chat_call(Json call, const std::string& where) {
  make_function(call);
  const bool has_name = call.is_object() && call.contains("function") && call["function"].is_object() &&
                        call["function"].contains("name") && call["function"]["name"].is_string();
  if (!has_name) return wrong(where + ".function", "expected an object with a name");
  ChatCall read;
  read.id = take_text(call, "id");
  read.name = take_text(call["function"], "name");
  read.arguments = read_arguments(std::exchange(call["function"]["arguments"], Json()));
  read.more = std::move(call);
  return read;
}

Result<std::vector<ChatCall>> read_chat_calls(const Json& calls, const std::string& where) {
  if (!calls.is_array()) return wrong(where, "expected an array");
  std::vector<ChatCall> read;
  for (size_t i = 0; i < calls.size(); ++i) {
    RZ_TRY(read.emplace_back(), read_chat_call(calls[i], fmt::format("{}[{}]", where, i)));
  }
  return read;
}

Json call_json(const ChatCall& call) {
  Json json = call.more;
  if (!call.id.empty()) json["id"] = call.id;
  json["function"]["name"] = call.name;
  json["function"]["arguments"] = call.arguments;
  return json;
}

}  // namespace

Result<Role> read_role(const Json& role, const std::string& where) {
  const auto* found = role.is_string() ? std::ranges::find(kRoles, role.get_ref<const std::string&>()) : kRoles.end();
  if (found == kRoles.end()) return wrong(where, "expected one of system, developer, user, assistant, tool");
  return static_cast<Role>(found - kRoles.begin());
}

Result<std::string> read_content(const Json& content, const std::string& where) {
  std::string text;
  if (content.is_null()) return text;
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return wrong(where, "expected a string, an array of parts or null");
  for (size_t i = 0; i < content.size(); ++i) {
    RZ_TRY(const std::string part, text_of_part(content[i], fmt::format("{}[{}]", where, i)));
    text += part;
  }
  return text;
}

Json read_arguments(const Json& arguments) {
  if (arguments.is_null()) return Json::object();
  if (!arguments.is_string()) return arguments;
  const auto& text = arguments.get_ref<const std::string&>();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
  auto parsed = parse_json(text);
  if (!parsed.ok()) return arguments;
  const TakenApartAtEnd end{*parsed};
  if (!parsed->is_object()) return arguments;
  return std::move(*parsed);
}

Result<ChatMessage> read_chat_message(Json message, const std::string& where) {
  if (!message.is_object()) return wrong(where, "expected an object");
  ChatMessage read;
  RZ_TRY(read.role, read_role(message.value("role", Json()), where + ".role"));
  const Json content = std::exchange(message["content"], Json());
  if (content.is_null() && read.role != Role::kAssistant) return wrong(where + ".content", "expected a string");
  RZ_TRY(read.content, read_content(content, where + ".content"));
  if (const Json calls = message.value("tool_calls", Json()); !calls.is_null()) {
    RZ_TRY(read.calls, read_chat_calls(calls, where + ".tool_calls"));
    message["tool_calls"] = Json::array();
  } else {
    message.erase("tool_calls");
  }
  read.reasoning = take_text(message, "reasoning_content");
  read.tool_call_id = take_text(message, "tool_call_id");
  read.name = take_text(message, "name");
  read.more = std::move(message);
  return read;
}

Result<std::vector<ChatMessage>> read_chat_messages(const Json& messages, const std::string& where) {
  std::vector<ChatMessage> read;
  for (size_t i = 0; i < messages.size(); ++i) {
    RZ_TRY(read.emplace_back(), read_chat_message(messages[i], fmt::format("{}[{}]", where, i)));
  }
  return read;
}

Json template_json(const ChatMessage& message, bool knows_developer) {
  const bool is_system = message.role == Role::kDeveloper && !knows_developer;
  Json json = message.more;
  json["role"] = kRoles[static_cast<size_t>(is_system ? Role::kSystem : message.role)];
  json["content"] = message.content;
  if (!message.reasoning.empty()) json["reasoning_content"] = message.reasoning;
  for (const ChatCall& call : message.calls) json["tool_calls"].push_back(call_json(call));
  if (!message.tool_call_id.empty()) json["tool_call_id"] = message.tool_call_id;
  if (!message.name.empty()) json["name"] = message.name;
  return json;
}

ChatCall function_call(const Json& id, std::string name, const Json& arguments) {
  return {string_or_empty(id), std::move(name), read_arguments(arguments), {{"id", id}, {"type", "function"}}};
}

ChatMessage tool_result(const Json& id, std::string content) {
  return {.role = Role::kTool,
          .content = std::move(content),
          .tool_call_id = string_or_empty(id),
          .more = {{"role", "tool"}, {"tool_call_id", id}}};
}

}  // namespace realizar::server
