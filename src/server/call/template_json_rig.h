// For tests: a message in the form for a template that supports everything.
#pragma once

#include "server/call/chat_messages.h"

namespace realizar::server {

inline Json template_json(const ChatMessage& message) {
  return text::fitted({{message}}, {})["messages"][0];
}

}  // namespace realizar::server
