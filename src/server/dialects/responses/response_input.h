// The conversation of a request of the Responses API.
#pragma once

#include <nlohmann/json.hpp>

#include "server/call/chat_request.h"
#include "server/dialects/responses/response_items.h"

namespace realizar::server {

struct ResponseReading : ChatReading {
  ResponseReading(const ServedModel& served, const RequestContext& asked);

  ToolNames tool_names;
  Json input = Json::array();  // the request's own items, for the store; references are replaced with their items
};

// Reads the items of the prompt. Items that the input refers to, and the items of earlier responses, come from the
// tenant's stored responses. Calls and results of hosted tools (web_search_call ...), which no model here has made, are
// left out. Errors: InvalidArgument and NotFound, naming the field.
Status read_response_input(Fields& body, ResponseReading& into);
// Reads the input, and how the answer is generated.
Status read_whole_response(Fields& body, ResponseReading& into);
KnownFields response_fields();

// Readers of the tools. The functions and custom tools of a namespace get joined names. Errors of both: InvalidArgument
// naming the field.
Status read_response_tools(Fields& body, const char* name, ResponseReading& into);
Status read_response_choice(Fields& body, const char* name, ResponseReading& into);

}  // namespace realizar::server
