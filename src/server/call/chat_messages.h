// The messages of a chat, from any dialect.
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

// Errors of all these: InvalidArgument naming `where`, the value's location in the body, or a part of it.
Result<Role> read_role(const Json& role, const std::string& where);
// Replaces a part of a tool's result that is not text, so that the session can continue without it.
std::string note_of_part(std::string_view type);
// A text, parts of text, which are joined, or null, which is "". `is_result`: parts that are not text are replaced by a
// note.
Result<std::string> read_content(const Json& content, const std::string& where, bool is_result = false);
// Arguments as an object, or as its JSON text. Text that is not an object, such as an incomplete call's, stays text.
Json read_arguments(const Json& arguments);
// {"role", "content", "tool_calls", ...}, as in a chat completion. Only an assistant's content may be absent.
Result<ChatMessage> read_chat_message(Json message, const std::string& where);
// A list of such messages.
Result<std::vector<ChatMessage>> read_chat_messages(const Json& messages, const std::string& where);

// For dialects whose calls are all of functions. An `id` is a text, except from some clients.
ChatCall function_call(const Json& id, std::string name, const Json& arguments);
ChatMessage tool_result(const Json& id, std::string content);

}  // namespace realizar::server
