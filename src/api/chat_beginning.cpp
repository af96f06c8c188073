#include "api/chat_beginning.h"

#include <algorithm>
#include <utility>

namespace realizar {
namespace {

using ChatJson = nlohmann::ordered_json;

bool is_system(const ChatJson& message) {
  const ChatJson role = message.is_object() ? message.value("role", ChatJson()) : ChatJson();
  return role == "system" || role == "developer";
}

bool is_message(const ChatJson& message) {
  if (!message.is_object()) return false;
  const ChatJson role = message.value("role", ChatJson());
  const bool is_known = role == "system" || role == "user" || role == "assistant";
  return is_known && message.value("content", ChatJson()).is_string();
}

}  // namespace

ChatJson ChatBeginning::before(ChatJson later) const {
  ChatJson all = messages;
  for (ChatJson& message : later) all.push_back(std::move(message));
  const bool wants_system = !system.empty() && std::ranges::none_of(all, is_system);
  if (wants_system) all.insert(all.begin(), ChatJson{{"role", "system"}, {"content", system}});
  return all;
}

ChatBeginning read_chat_beginning(std::string system, const std::string& messages, std::vector<std::string>& notes) {
  ChatBeginning beginning{std::move(system)};
  if (messages.empty()) return beginning;
  ChatJson read = ChatJson::parse(messages, nullptr, false);
  if (read.is_array() && std::ranges::all_of(read, is_message)) {
    beginning.messages = std::move(read);
  } else {
    notes.emplace_back("the messages beside the model's file are not used: expected a list of messages with texts");
  }
  return beginning;
}

}  // namespace realizar
