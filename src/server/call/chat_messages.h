// The messages of a chat, whichever dialect they came in.
#pragma once

#include <string>
#include <vector>

#include "realizar/result.h"
#include "server/http/json.h"
#include "text/conversation.h"

namespace realizar::server {

using text::Role;
using ChatCall = text::MessageCall;
using ChatMessage = text::Message;

// Errors of all these: InvalidArgument naming `where`, which is the value's place in the body, or a part of it.
Result<Role> read_role(const Json& role, const std::string& where);
// Stands in a tool's result for a part that is no text, so that the session goes on without it.
std::string note_of_part(std::string_view type);
// A text, parts of text, which are joined, or null, which is "". `is_result`: parts that are no text leave a note.
Result<std::string> read_content(const Json& content, const std::string& where, bool is_result = false);
// Arguments as an object or as its text. Text that is none, such as that of a call which was cut off, stays text.
Json read_arguments(const Json& arguments);
// {"role", "content", "tool_calls", ...}, as a chat completion has it. Only an assistant's content may be absent.
Result<ChatMessage> read_chat_message(Json message, const std::string& where);
// A list of such messages.
Result<std::vector<ChatMessage>> read_chat_messages(const Json& messages, const std::string& where);

// For dialects whose calls are of functions alone. An `id` is a text, but for clients that send something else.
ChatCall function_call(const Json& id, std::string name, const Json& arguments);
ChatMessage tool_result(const Json& id, std::string content);

}  // namespace realizar::server
