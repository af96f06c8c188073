#include "api/chat_beginning.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace realizar {
namespace {

using ChatJson = nlohmann::ordered_json;

bool is_message(const ChatJson& message) {
  if (!message.is_object()) return false;
  const ChatJson role = message.value("role", ChatJson());
  const bool is_known = role == "system" || role == "user" || role == "assistant";
  return is_known && message.value("content", ChatJson()).is_string();
}

}  // namespace

std::vector<text::Message> ChatBeginning::before(bool has_system) const {
  std::vector<text::Message> all = messages;
  const bool wants_system = !system.empty() && !has_system && std::ranges::none_of(all, text::is_system);
  if (wants_system) all.insert(all.begin(), {text::Role::kSystem, system});
  return all;
}

ChatBeginning read_chat_beginning(std::string system, const std::string& messages, std::vector<std::string>& notes) {
  ChatBeginning beginning{std::move(system)};
  if (messages.empty()) return beginning;
  const ChatJson read = ChatJson::parse(messages, nullptr, false);
  if (!read.is_array() || !std::ranges::all_of(read, is_message)) {
    notes.emplace_back("the messages next to the model's file are not used: expected a list of messages with texts");
    return beginning;
  }
  for (const ChatJson& message : read) {
    const text::Role role = text::role_named(message["role"].get_ref<const std::string&>());
    beginning.messages.push_back({.role = role, .content = message["content"], .more = message});
  }
  return beginning;
}

}  // namespace realizar
