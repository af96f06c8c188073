// What a request of Anthropic's Messages API asks, as a chat completion asks it.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "server/call/client_places.h"
#include "server/http/json.h"

namespace realizar::server {

struct MessageChat {
  Json body = Json::object();  // of a chat completion
  ClientPlaces places;         // of `body`
  bool omits_thinking = false;
};

// Tools of Anthropic's own (web_search_20250305 ...), which no model here can call, and their calls and results are
// left out; images and documents that are no text are refused. Errors: InvalidArgument naming the field.
Result<MessageChat> chat_of_message(Fields& fields);

}  // namespace realizar::server
