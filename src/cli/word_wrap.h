// Wraps lines between words while text arrives: the known part of a word is shown at once, and a word that turns out
// not to fit is erased and moved to the next line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace realizar::cli {

class WordWrap {
 public:
  // A line has at most n_columns; 0: lines are never wrapped.
  explicit WordWrap(uint32_t n_columns) : n_columns_(n_columns) {}

  // The output that shows `text` (whole UTF-8 characters, no control characters except line breaks and tabs) after
  // everything pushed before. The width of characters depends on the locale.
  std::string push(std::string_view text);

 private:
  void add_space(char space, std::string& out);
  void add_char(std::string_view bytes, uint32_t width, std::string& out);
  void begin_line();

  uint32_t n_columns_;
  uint32_t column_ = 0;
  std::string word_;           // the one that may continue
  uint32_t word_columns_ = 0;  // its width
};

}  // namespace realizar::cli
