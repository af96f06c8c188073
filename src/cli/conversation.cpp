#include "cli/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/json_text.h"
#include "base/try.h"
#include "cli/input_history.h"

namespace realizar::cli {
namespace {

using ChatJson = nlohmann::ordered_json;

bool is_question(const ChatJson& turn) {
  return turn["role"] == "user";
}

// Some templates require ids of 9 letters and digits.
std::string call_id(size_t n_before) {
  return fmt::format("call{:05}", n_before % 100'000);
}

// Templates access an object's members; text that is not an object stays as it was written.
ChatJson arguments_of(const std::string& json) {
  ChatJson arguments = ChatJson::parse(json.empty() ? "{}" : json, nullptr, false);
  return arguments.is_object() ? arguments : ChatJson(json);
}

Result<ChatJson> read_calls(const ChatJson& calls, const std::string& where) {
  const Error error = format_error(where + ": expected tool_calls as /save writes them", "messages");
  if (!calls.is_array()) return error;
  ChatJson read = ChatJson::array();
  for (const ChatJson& call : calls) {
    const ChatJson function = call.is_object() ? call.value("function", ChatJson()) : ChatJson();
    const ChatJson id = call.is_object() ? call.value("id", ChatJson()) : ChatJson();
    const ChatJson name = function.is_object() ? function.value("name", ChatJson()) : ChatJson();
    const ChatJson arguments = function.is_object() ? function.value("arguments", ChatJson()) : ChatJson();
    if (!id.is_string() || !name.is_string() || (!arguments.is_object() && !arguments.is_string())) return error;
    read.push_back({{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}});
  }
  return read;
}

Result<ChatJson> read_turn(const ChatJson& turn, size_t idx) {
  const std::string where = "messages[" + std::to_string(idx) + "]";
  const auto has_text = [&turn](const char* key) { return turn.contains(key) && turn[key].is_string(); };
  if (!turn.is_object() || !has_text("role") || !has_text("content")) {
    return format_error(where + ": expected an object with role and content, each a string", "messages");
  }
  const auto& role = turn["role"];
  if (role != "user" && role != "assistant" && role != "tool" && !(role == "system" && idx == 0)) {
    return format_error(where + ": expected the role user, assistant or tool, or system in the first message",
                        "messages");
  }
  ChatJson read{{"role", role}, {"content", turn["content"]}};
  for (const char* key : {"reasoning_content", "tool_call_id", "name"}) {
    if (has_text(key)) read[key] = turn[key];
  }
  if (role == "assistant" && turn.contains("tool_calls")) {
    RZ_TRY(read["tool_calls"], read_calls(turn["tool_calls"], where));
  }
  return read;
}

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

}  // namespace

Status Conversation::set_beginning(std::string_view messages) {
  if (messages.empty()) return {};
  const auto json = ChatJson::parse(messages, nullptr, false);
  if (!json.is_array()) return format_error("the model's messages: expected a JSON list", "messages");
  for (size_t i = 0; i < json.size(); ++i) {
    RZ_TRY(ChatJson turn, read_turn(json[i], i));
    if (turn["role"] != "system") {
      beginning_.push_back(std::move(turn));
    } else if (system_.empty()) {
      system_ = turn["content"];
    }
  }
  return {};
}

void Conversation::clear() {
  turns_ = ChatJson::array();
  n_left_out_ = 0;
}

void Conversation::ask(std::string_view question) {
  turns_.push_back({{"role", "user"}, {"content", question}});
}

void Conversation::answer(const TextGeneration& generation) {
  ChatJson turn{{"role", "assistant"}, {"content", generation.text}};
  if (!generation.reasoning.empty()) turn["reasoning_content"] = generation.reasoning;
  for (const ToolCall& call : generation.calls) {
    const size_t n_before = turns_.size() + (turn.contains("tool_calls") ? turn["tool_calls"].size() : 0);
    turn["tool_calls"].push_back(
        {{"id", call_id(n_before)},
         {"type", "function"},
         {"function", {{"name", call.name}, {"arguments", arguments_of(call.arguments_json)}}}});
  }
  turns_.push_back(std::move(turn));
}

void Conversation::add_tool_result(size_t call_idx, std::string_view text) {
  size_t after = turns_.size();
  while (after > 0 && !turns_[after - 1].contains("tool_calls")) --after;
  if (after == 0 || call_idx >= turns_[after - 1]["tool_calls"].size()) return;
  const ChatJson call = turns_[after - 1]["tool_calls"][call_idx];
  turns_.push_back(
      {{"role", "tool"}, {"content", text}, {"tool_call_id", call["id"]}, {"name", call["function"]["name"]}});
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

ChatJson Conversation::template_variables(const ChatJson& tools) const {
  ChatJson messages = ChatJson::array();
  if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
  for (const ChatJson& turn : beginning_) messages.push_back(turn);
  for (size_t i = first_kept(); i < turns_.size(); ++i) messages.push_back(turns_[i]);
  ChatJson variables{{"messages", std::move(messages)}};
  if (!tools.is_null()) variables["tools"] = tools;
  return variables;
}

std::string Conversation::to_json() const {
  ChatJson messages = ChatJson::array();
  if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
  for (const ChatJson& turn : turns_) messages.push_back(turn);
  const ChatJson json{{"messages", std::move(messages)}};
  return json_text(json, 2) + '\n';
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

Status write_conversation(const std::filesystem::path& path, const Conversation& conversation, Readers readers) {
  RZ_TRY(NewFile file, NewFile::create(path, readers));
  RZ_CHECK_OK(file.write(conversation.to_json()));
  return file.commit();
}

Result<Conversation> read_conversation(const std::filesystem::path& path) {
  RZ_TRY(const std::string text, read_file_or_pipe(path, kMaxBytes));
  auto read = Conversation::from_json(text);
  if (!read.ok()) return format_error(path.string() + ": " + read.error().message, path.string());
  return read;
}

std::optional<std::filesystem::path> last_chat_path() {
  const auto history = history_path();
  return history ? std::optional(history->parent_path() / "conversation.json") : std::nullopt;
}

Status keep_last_chat(const std::filesystem::path& path, const Conversation& conversation) {
  RZ_CHECK_OK(make_private_folders(path.parent_path()));
  return write_conversation(path, conversation, Readers::kOwnerAlone);
}

Result<Conversation> read_last_chat(const std::filesystem::path& path) {
  if (!version_at(path)) return not_found("no chat was saved in " + path.string() + " to go on with", "continue");
  return read_conversation(path);
}

}  // namespace realizar::cli
