// The fields of Anthropic's Messages API.
#pragma once

#include "server/call/chat_request.h"

namespace realizar::server {

struct MessageReading : ChatReading {
  using ChatReading::ChatReading;

  bool omits_thinking = false;
};

// Reads what the prompt is made of. Tools of Anthropic's own (web_search_20250305 ...), which no model here can call,
// and their calls and results are left out; images and documents that are no text are refused. Errors: InvalidArgument
// naming the field.
Status read_message_fields(Fields& body, MessageReading& into);
// Reads that, and how the answer is generated.
Status read_whole_message(Fields& body, MessageReading& into);
KnownFields message_fields();

}  // namespace realizar::server
