// Displays an answer while it arrives: on a terminal its words are wrapped and its reasoning is dim; elsewhere
// reasoning is enclosed in <think> and </think>, whatever marks the model itself writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace realizar::cli {

// Wraps lines between words while text arrives: the known part of a word is shown at once, and a word that turns out
// not to fit is erased and moved to the next line.
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

class AnswerView {
 public:
  struct Options {
    bool hides_reasoning = false;
    bool shows_styles = false;
    bool spells_controls = false;  // control characters are spelled out, for a terminal, which would interpret them
    uint32_t n_columns = 0;        // maximum width of lines; 0: never wrapped
  };
  // The options for standard output: a terminal with some width, or a file.
  static Options for_stdout(bool hides_reasoning);

  explicit AnswerView(const Options& options) : options_(options), wrap_(options.n_columns) {}

  // The text to write for the next piece of the answer.
  std::string show(std::string_view text, bool is_reasoning);
  // The text to write at the end: closes unfinished reasoning.
  std::string end();

 private:
  std::string turn(bool to_reasoning);

  Options options_;
  WordWrap wrap_;
  bool in_reasoning_ = false;
};

}  // namespace realizar::cli
