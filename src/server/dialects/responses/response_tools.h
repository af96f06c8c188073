// The tools of a request of the Responses API, as a chat completion has them.
#pragma once

#include "server/dialects/responses/response_input.h"

namespace realizar::server {

// Reads tools and tool_choice into chat.body, chat.tool_names and chat.places. The functions and custom tools of a
// namespace become such with joined names. Errors: InvalidArgument naming the field.
Status read_response_tools(const Json& body, ResponseChat& chat);

}  // namespace realizar::server
