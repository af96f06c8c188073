// How conversations with a model begin, as Ollama's models have it: with a system message, and with turns.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace realizar {

struct ChatBeginning {
  std::string system;  // "": none
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();

  bool empty() const { return system.empty() && messages.empty(); }
  // The beginning comes before `messages`, a list, and its system message first where neither has one.
  nlohmann::ordered_json before(nlohmann::ordered_json messages) const;
};

// `messages`: a JSON list of messages of system, user and assistant, each with a text; "": none. A list that is none is
// not used, and a note of `notes` says so.
ChatBeginning read_chat_beginning(std::string system, const std::string& messages, std::vector<std::string>& notes);

}  // namespace realizar
