// What a person says in a chat: messages of one line or of several, kept for the chats to come.
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
  // `terminal_fd`: as for LineEditor. `keeps_history`: in the file of input_history.h.
  MessageInput(int terminal_fd, bool keeps_history);

  // Reads one message. It has several lines where these end in a backslash, stand between triple quotes, or were
  // pasted.
  LineStatus read(std::string& message);
  // Whether messages are kept for later chats; not where that has failed once.
  bool keeps_history() const { return history_path_.has_value(); }
  void complete_by(Completer completer) { editor_.complete_by(std::move(completer)); }
  // Reads a line after a question, which is no message and is not kept.
  LineStatus ask(const std::string& question, std::string& line) { return editor_.read(question, line); }

 private:
  std::vector<std::string> earlier_messages();
  void remember(const std::string& message);
  void forget_history(const Error& error);

  std::optional<std::filesystem::path> history_path_;  // nullopt: nothing is kept
  LineEditor editor_;
};

}  // namespace realizar::cli
