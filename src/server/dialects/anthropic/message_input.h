// The fields of Anthropic's Messages API.
#pragma once

#include "server/call/chat_request.h"

namespace realizar::server {

struct MessageReading : ChatReading {
  using ChatReading::ChatReading;

  bool omits_thinking = false;
};

// Reads the parts of the prompt. Anthropic's own tools (web_search_20250305 ...), which no model here can call, and
// their calls and results are skipped; images and documents that are not text are refused. Errors: InvalidArgument
// naming the field.
Status read_message_fields(Fields& body, MessageReading& into);
// Reads these, and the generation settings.
Status read_whole_message(Fields& body, MessageReading& into);
KnownFields message_fields();

}  // namespace realizar::server
