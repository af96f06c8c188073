// Displays an answer while it arrives: on a terminal its words are wrapped and its reasoning is dim; elsewhere
// reasoning is enclosed in <think> and </think>, whatever marks the model itself writes.
#pragma once

#include <string>
#include <string_view>

#include "cli/word_wrap.h"

namespace realizar::cli {

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
