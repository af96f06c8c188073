#include "server/call/chat_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {
namespace {

// Names under which clients return a model's thoughts.
constexpr std::array<const char*, 4> kThoughts = {"reasoning_content", "reasoning", "thinking", "thought"};

// Some clients send numbers.
std::string id_of(const Json& id) {
  if (id.is_number_integer()) return dump(id);
  return id.is_string() ? id.get<std::string>() : std::string();
}

// Moves a member out of an object; null where there is none.
Json take_member(Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return nullptr;
  Json member = std::move(*found);
  object.erase(found);
  return member;
}

std::string take_text(Json& object, const char* name) {
  const Json member = take_member(object, name);
  return member.is_string() ? member.get<std::string>() : std::string();
}

// Moves out the first non-empty of these members and removes them all.
std::string take_thoughts(Json& message) {
  std::string thoughts;
  for (const char* name : kThoughts) {
    std::string text = take_text(message, name);
    if (thoughts.empty()) thoughts = std::move(text);
  }
  return thoughts;
}

Result<std::string> text_of_part(const Json& part, const std::string& where, bool is_result) {
  if (!part.is_object() || !part.contains("type")) return wrong(where, "expected an object with a type");
  const Json& type = part["type"];
  const bool is_text = type == "text" || type == "input_text" || type == "output_text" || type == "refusal";
  if (!is_text && is_result && type.is_string()) return note_of_part(type.get_ref<const std::string&>());
  if (!is_text) return wrong(where, fmt::format("this model takes text only, actual type {}", shown(dump(type))));
  const char* key = type == "refusal" ? "refusal" : "text";
  if (!part.contains(key) || !part[key].is_string()) return wrong(where, fmt::format("expected a string as {}", key));
  return part[key].get<std::string>();
}

// A call of a custom tool has text instead of arguments; templates only know functions.
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
  read.id = id_of(take_member(call, "id"));
  read.name = take_text(call["function"], "name");
  read.arguments = read_arguments(take_member(call["function"], "arguments"));
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

}  // namespace

Result<Role> read_role(const Json& role, const std::string& where) {
  const Role read = role.is_string() ? text::role_named(role.get_ref<const std::string&>()) : Role::kOther;
  if (read == Role::kOther) return wrong(where, "expected one of system, developer, user, assistant, tool");
  return read;
}

std::string note_of_part(std::string_view type) {
  return fmt::format("[{}: left out, since this model takes text only]", type);
}

Result<std::string> read_content(const Json& content, const std::string& where, bool is_result) {
  std::string text;
  if (content.is_null()) return text;
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return wrong(where, "expected a string, an array of parts or null");
  for (size_t i = 0; i < content.size(); ++i) {
    RZ_TRY(const std::string part, text_of_part(content[i], fmt::format("{}[{}]", where, i), is_result));
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
  const Json content = take_member(message, "content");
  if (content.is_null() && read.role != Role::kAssistant) return wrong(where + ".content", "expected a string");
  RZ_TRY(read.content, read_content(content, where + ".content", read.role == Role::kTool));
  if (const Json calls = take_member(message, "tool_calls"); !calls.is_null()) {
    RZ_TRY(read.calls, read_chat_calls(calls, where + ".tool_calls"));
  }
  read.reasoning = take_thoughts(message);
  read.tool_call_id = id_of(take_member(message, "tool_call_id"));
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

ChatCall function_call(const Json& id, std::string name, const Json& arguments) {
  return {id_of(id), std::move(name), read_arguments(arguments)};
}

ChatMessage tool_result(const Json& id, std::string content) {
  return {.role = Role::kTool, .content = std::move(content), .tool_call_id = id_of(id)};
}

}  // namespace realizar::server
