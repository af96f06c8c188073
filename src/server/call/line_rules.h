// Ends of an answer that its lines decide, as editors ask llama.cpp's server for them.
#pragma once

#include <cstdint>
#include <string>

namespace realizar::server {

struct LineRules {
  uint32_t n_indent = 0;  // a line that begins with fewer spaces and tabs ends the answer; 0: none does
  uint32_t max_ms = 0;    // after the first token, once a line is complete; 0: no limit
};

// Watches the text of one answer while it arrives.
class LineWatch {
 public:
  explicit LineWatch(const LineRules& rules) : rules_(rules) {}

  // The text that is certain to be part of the answer: the beginning of a line waits for the end of its indentation.
  std::string take(std::string text);
  // `ms`: from the first token to the last one.
  void note_time(double ms) { is_over_ = is_over_ || (rules_.max_ms > 0 && has_new_line_ && ms > rules_.max_ms); }
  // What still waits, at the end of the answer.
  std::string finish();
  // A rule has ended the answer: later text is no part of it.
  bool is_over() const { return is_over_; }

 private:
  const LineRules rules_;
  std::string indentation_;  // a line break and the blanks after it, while these may go on
  bool has_new_line_ = false, is_over_ = false;
};

}  // namespace realizar::server
