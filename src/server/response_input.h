// What a request of the Responses API asks, as a chat completion asks it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "server/json.h"
#include "server/response_store.h"
#include "server/tool_names.h"

namespace realizar::server {

struct ResponseChat {
  Json body;             // of a chat completion
  ToolNames tool_names;  // of those in `body`
  Json input;            // the request's own items, for the store; what was a reference is the item itself
  // Places in `body` and what the client wrote there: "messages[2].content" is "input[1].output".
  std::vector<std::pair<std::string, std::string>> places;
};

// Items that the input refers to, and those before it, come from the tenant's stored responses. Calls and results of
// hosted tools (web_search_call ...), which no model here has made, are left out. Errors: InvalidArgument and NotFound,
// naming the field.
Result<ResponseChat> chat_of_response(Fields& fields, ResponseStore& store, uint64_t tenant);

// An error of the chat completion, with the place that the client knows.
Error at_place_of_response(Error error, const ResponseChat& chat);

}  // namespace realizar::server
