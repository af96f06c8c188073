// What a request of the Responses API asks, as a chat completion asks it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "server/call/client_places.h"
#include "server/call/response_store.h"
#include "server/dialects/responses/tool_names.h"
#include "server/http/json.h"

namespace realizar::server {

struct ResponseChat {
  Json body;             // of a chat completion
  ToolNames tool_names;  // of those in `body`
  Json input;            // the request's own items, for the store; what was a reference is the item itself
  ClientPlaces places;   // of `body`
};

// Items that the input refers to, and those before it, come from the tenant's stored responses. Calls and results of
// hosted tools (web_search_call ...), which no model here has made, are left out. Errors: InvalidArgument and NotFound,
// naming the field.
Result<ResponseChat> chat_of_response(Fields& fields, ResponseStore& store, uint64_t tenant);

}  // namespace realizar::server
