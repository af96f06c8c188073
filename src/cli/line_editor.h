// Input lines: edited on a terminal (libedit), with history and multi-line pastes; plain from anything else.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace realizar::cli {

enum class LineStatus { kLine, kInterrupted, kEnd };

// Completions of a line's last word, each beginning with the typed part of it. `line`: up to the cursor.
using Completer = std::function<std::vector<std::string>(std::string_view line)>;

class LineEditor {
 public:
  // `terminal_fd`: standard output or standard error, where prompts and input are shown; -1: none, lines are read
  // unedited. `history`: oldest first.
  LineEditor(int terminal_fd, const std::vector<std::string>& history);
  ~LineEditor();

  // Reads one line, without its line break, after `prompt`, a sign and a space; a pasted line may contain further line
  // breaks. Returns kInterrupted for Ctrl-C, kEnd at the end of input. Bytes are as typed: UTF-8 if the locale is.
  LineStatus read(const std::string& prompt, std::string& line);
  // The completer for the Tab key; if it returns nothing, a tab is inserted.
  void complete_by(Completer completer);
  // Makes the line available through the arrow keys.
  void remember(const std::string& line);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// Completions of a file or folder path, sorted by name, each beginning with the typed part of the path; folders end in
// a slash. Hidden ones are included only if the name begins with a dot.
std::vector<std::string> complete_path(std::string_view typed);

}  // namespace realizar::cli
