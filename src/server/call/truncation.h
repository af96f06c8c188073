// Conversations that are longer than a model's context.
#pragma once

#include "server/call/chat_request.h"
#include "server/http/json.h"

namespace realizar::server {

// Reads a chat completion's body as read_chat_request does.
Result<ChatRequest> read_whole_chat(const Json& body, const char* messages, const ServedModel& model,
                                    const RequestContext& context);

// The same of a body that may be too long: as many of its oldest messages are left out as must be to leave room for an
// answer. Instructions stay, and so does the last message, which may be too long by itself. No result of a tool stands
// first, without its call.
Result<ChatRequest> read_newest_messages(const Json& body, const char* messages, const ServedModel& model,
                                         const RequestContext& context);

}  // namespace realizar::server
