// For tests: a message as a template that takes everything reads it.
#pragma once

#include "server/call/chat_messages.h"

namespace realizar::server {

inline Json template_json(const ChatMessage& message) {
  return text::fitted({{message}}, {})["messages"][0];
}

}  // namespace realizar::server
