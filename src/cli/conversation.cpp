#include "cli/conversation.h"

#include <algorithm>

#include "base/try.h"

namespace realizar::cli {
namespace {

using ChatJson = nlohmann::ordered_json;

std::string dump_utf8(const ChatJson& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_question(const ChatJson& turn) {
  return turn["role"] == "user";
}

Result<ChatJson> read_turn(const ChatJson& turn, size_t idx) {
  const std::string where = "messages[" + std::to_string(idx) + "]";
  const auto has_text = [&turn](const char* key) { return turn.contains(key) && turn[key].is_string(); };
  if (!turn.is_object() || !has_text("role") || !has_text("content")) {
    return format_error(where + ": expected an object with role and content, each a string", "messages");
  }
  const auto& role = turn["role"];
  if (role != "user" && role != "assistant" && !(role == "system" && idx == 0)) {
    return format_error(where + ": expected the role user or assistant, or system in the first message", "messages");
  }
  ChatJson read{{"role", role}, {"content", turn["content"]}};
  if (has_text("reasoning_content")) read["reasoning_content"] = turn["reasoning_content"];
  return read;
}

}  // namespace

void Conversation::clear() {
  turns_ = ChatJson::array();
  n_left_out_ = 0;
}

void Conversation::ask(std::string_view question) {
  turns_.push_back({{"role", "user"}, {"content", question}});
}

void Conversation::answer(std::string_view text, std::string_view reasoning) {
  ChatJson turn{{"role", "assistant"}, {"content", text}};
  if (!reasoning.empty()) turn["reasoning_content"] = reasoning;
  turns_.push_back(std::move(turn));
}

std::string Conversation::take_back() {
  std::string question;
  for (bool is_found = false; !turns_.empty() && !is_found;) {
    is_found = is_question(turns_.back());
    if (is_found) question = turns_.back()["content"];
    turns_.erase(turns_.size() - 1);
  }
  n_left_out_ = std::min(n_left_out_, n_questions());
  return question;
}

size_t Conversation::n_questions() const {
  return static_cast<size_t>(std::count_if(turns_.begin(), turns_.end(), is_question));
}

bool Conversation::leave_out_oldest() {
  if (n_questions() <= n_left_out_ + 1) return false;
  ++n_left_out_;
  return true;
}

size_t Conversation::first_kept() const {
  size_t n_seen = 0;
  for (size_t i = 0; i < turns_.size(); ++i) {
    if (is_question(turns_[i]) && n_seen++ == n_left_out_) return n_left_out_ == 0 ? 0 : i;
  }
  return n_left_out_ == 0 ? 0 : turns_.size();
}

ChatJson Conversation::template_variables() const {
  ChatJson messages = ChatJson::array();
  if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
  for (size_t i = first_kept(); i < turns_.size(); ++i) messages.push_back(turns_[i]);
  return {{"messages", std::move(messages)}};
}

std::string Conversation::to_json() const {
  ChatJson messages = ChatJson::array();
  if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
  for (const ChatJson& turn : turns_) messages.push_back(turn);
  return dump_utf8({{"messages", std::move(messages)}}, 2) + '\n';
}

Result<Conversation> Conversation::from_json(std::string_view text) {
  const auto json = ChatJson::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("messages") || !json["messages"].is_array()) {
    return format_error("expected a JSON object with an array of messages, as /save writes it", "messages");
  }
  Conversation conversation;
  for (size_t i = 0; i < json["messages"].size(); ++i) {
    RZ_TRY(ChatJson turn, read_turn(json["messages"][i], i));
    if (turn["role"] == "system") {
      conversation.system_ = turn["content"];
    } else {
      conversation.turns_.push_back(std::move(turn));
    }
  }
  return conversation;
}

}  // namespace realizar::cli
