// A line of input with editing and history (libedit).
#pragma once

#include <memory>
#include <string>

namespace realizar::cli {

enum class LineStatus { kLine, kInterrupted, kEnd };

class LineEditor {
 public:
  LineEditor();
  ~LineEditor();

  // Reads one line, without its line break, and remembers it. Ctrl-C gives kInterrupted, end of input kEnd.
  LineStatus read(const char* prompt, std::string& line);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar::cli
