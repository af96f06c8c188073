// `functions` and `function_call`, OpenAI's first spelling of tools, which older clients still send.
#pragma once

#include "realizar/result.h"
#include "server/http/json.h"

namespace realizar::server {

// Whether any of it is in the body.
bool has_functions(const Json& body);
// Whether the answer's call is wanted as message.function_call.
bool asks_for_functions(const Json& body);

// The body with tools, tool_choice and tool_calls in their place, of which an answer has one call at most. Errors:
// InvalidArgument, naming the field.
Result<Json> with_tools(const Json& body);

}  // namespace realizar::server
