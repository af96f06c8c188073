// How conversations with a model begin, as Ollama's models have it: with a system message, and with turns.
#pragma once

#include <string>
#include <vector>

#include "text/conversation.h"

namespace realizar {

struct ChatBeginning {
  std::string system;  // "": none
  std::vector<text::Message> messages = {};

  bool empty() const { return system.empty() && messages.empty(); }
  // The messages that come before a conversation: the system message first where neither they nor the conversation
  // (`has_system`) have one.
  std::vector<text::Message> before(bool has_system) const;
};

// `messages`: a JSON list of messages of system, user and assistant, each with a text; "": none. A list that is none is
// not used, and a note of `notes` says so.
ChatBeginning read_chat_beginning(std::string system, const std::string& messages, std::vector<std::string>& notes);

}  // namespace realizar
