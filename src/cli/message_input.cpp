#include "cli/message_input.h"

#include <string_view>

#include "cli/input_history.h"
#include "cli/output.h"

namespace realizar::cli {
namespace {

constexpr size_t kMaxMessageBytes = size_t{64} << 20;
constexpr std::string_view kQuotes = R"(""")";  // around a message of several lines

// Line breaks next to the quotes, which are then on separate lines, do not belong to the message.
std::string between_quotes(std::string_view quoted) {
  quoted = quoted.substr(kQuotes.size(), quoted.size() - 2 * kQuotes.size());
  if (quoted.starts_with('\n')) quoted.remove_prefix(1);
  if (quoted.ends_with('\n')) quoted.remove_suffix(1);
  return std::string(quoted);
}

// Removes a backslash at the end, since the message then continues.
bool ends_message(std::string& line, bool is_quoted, bool is_first) {
  if (is_quoted) return line.ends_with(kQuotes) && (!is_first || line.size() >= 2 * kQuotes.size());
  if (!line.ends_with('\\')) return true;
  line.pop_back();
  return false;
}

}  // namespace

MessageInput::MessageInput(int terminal_fd, bool keeps_history)
    : history_path_(keeps_history ? history_path() : std::nullopt), editor_(terminal_fd, earlier_messages()) {}

LineStatus MessageInput::read(std::string& message) {
  message.clear();
  std::string line;
  LineStatus status = editor_.read("> ", line);
  const bool is_quoted = line.starts_with(kQuotes);
  while (status == LineStatus::kLine && !ends_message(line, is_quoted, message.empty())) {
    message += line + '\n';
    if (message.size() > kMaxMessageBytes) {
      warn("a message of more than 64 MB ends the chat");
      return LineStatus::kEnd;
    }
    status = editor_.read(". ", line);
  }
  message += line;
  if (status != LineStatus::kLine) return status;
  remember(message);
  if (is_quoted) message = between_quotes(message);
  return status;
}

std::vector<std::string> MessageInput::earlier_messages() {
  if (!history_path_) return {};
  auto messages = read_history(*history_path_);
  if (messages.ok()) return std::move(*messages);
  forget_history(messages.error());
  return {};
}

void MessageInput::remember(const std::string& message) {
  if (message.empty()) return;
  editor_.remember(message);
  if (!history_path_) return;
  if (const auto status = append_history(*history_path_, message); !status.ok()) forget_history(status.error());
}

void MessageInput::forget_history(const Error& error) {
  warn(error.message + " (--no-history keeps none)");
  history_path_.reset();
}

}  // namespace realizar::cli
