// A user's messages in a chat: of one line or several, kept for later chats.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/line_editor.h"
#include "realizar/result.h"

namespace realizar::cli {

class MessageInput {
 public:
  // `terminal_fd`: as in LineEditor. `keeps_history`: in the file of input_history.h.
  MessageInput(int terminal_fd, bool keeps_history);

  // Reads one message. It has several lines if they end in a backslash, are enclosed in triple quotes, or were pasted.
  LineStatus read(std::string& message);
  // Whether messages are kept for later chats; false after a failure.
  bool keeps_history() const { return history_path_.has_value(); }
  void complete_by(Completer completer) { editor_.complete_by(std::move(completer)); }
  // Reads a line in answer to a question, which is not a message and is not kept.
  LineStatus ask(const std::string& question, std::string& line) { return editor_.read(question, line); }

 private:
  std::vector<std::string> earlier_messages();
  void remember(const std::string& message);
  void forget_history(const Error& error);

  std::optional<std::filesystem::path> history_path_;  // nullopt: not kept
  LineEditor editor_;
};

}  // namespace realizar::cli
