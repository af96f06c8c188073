// The beginning of conversations with a model, as Ollama's models define it: a system message, and turns.
#pragma once

#include <string>
#include <vector>

#include "text/conversation.h"

namespace realizar {

struct ChatBeginning {
  std::string system;  // "": none
  std::vector<text::Message> messages = {};

  bool empty() const { return system.empty() && messages.empty(); }
  // The messages before a conversation; the system message comes first unless the messages or the conversation
  // (`has_system`) have one.
  std::vector<text::Message> before(bool has_system) const;
};

// `messages`: a JSON list of messages of system, user and assistant, each with a text; "": none. An invalid list is
// ignored with a note in `notes`.
ChatBeginning read_chat_beginning(std::string system, const std::string& messages, std::vector<std::string>& notes);

}  // namespace realizar
