// Lines of input: edited on a terminal (libedit) with history and pastes of several lines, plain from anything else.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace realizar::cli {

enum class LineStatus { kLine, kInterrupted, kEnd };

// The words that the last word of a line may become, with what is typed of it in front. `line`: up to the cursor.
using Completer = std::function<std::vector<std::string>(std::string_view line)>;

class LineEditor {
 public:
  // `terminal_fd`: standard output or standard error, where prompts and what is typed are shown; -1: nowhere, lines
  // come as they are. `history`: oldest first.
  LineEditor(int terminal_fd, const std::vector<std::string>& history);
  ~LineEditor();

  // Reads one line, without its line break, after `prompt`, a sign and a space; one that was pasted may hold further
  // line breaks. Ctrl-C gives kInterrupted, end of input kEnd. Bytes are those that were typed: UTF-8 where the locale
  // is.
  LineStatus read(const std::string& prompt, std::string& line);
  // The Tab key completes by it; where it gives nothing, Tab is a tab.
  void complete_by(Completer completer);
  // The arrow keys bring the line back from then on.
  void remember(const std::string& line);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar::cli
