// The messages of a chat, whichever dialect they came in.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "realizar/result.h"
#include "server/http/json.h"

namespace realizar::server {

enum class Role : uint8_t { kSystem, kDeveloper, kUser, kAssistant, kTool };

struct ChatCall {
  std::string id, name;
  Json arguments;  // an object, or the text of arguments that are none
  Json more = {};  // further members that templates may read
};

struct ChatMessage {
  Role role = Role::kUser;
  std::string content, reasoning = {};
  std::vector<ChatCall> calls = {};
  std::string tool_call_id = {}, name = {};
  Json more = {};  // further members that templates may read, and in their places the client's of those above
};

// Errors of all these: InvalidArgument naming `where`, which is the value's place in the body, or a part of it.
Result<Role> read_role(const Json& role, const std::string& where);
// A text, parts of text, which are joined, or null, which is "".
Result<std::string> read_content(const Json& content, const std::string& where);
// Arguments as an object or as its text. Text that is none, such as that of a call which was cut off, stays text.
Json read_arguments(const Json& arguments);
// {"role", "content", "tool_calls", ...}, as a chat completion has it. Only an assistant's content may be absent.
Result<ChatMessage> read_chat_message(Json message, const std::string& where);
// A list of such messages.
Result<std::vector<ChatMessage>> read_chat_messages(const Json& messages, const std::string& where);

// The JSON that templates read. A template that does not know the role developer gets system in its place.
Json template_json(const ChatMessage& message, bool knows_developer);

// For dialects whose calls are of functions alone. An `id` is a text, but for clients that send something else.
ChatCall function_call(const Json& id, std::string name, const Json& arguments);
ChatMessage tool_result(const Json& id, std::string content);

}  // namespace realizar::server
