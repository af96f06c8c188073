// Which of an answer's tokens its content is made of, where reasoning, calls and the marks around them lie between. One
// per answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/output/output_parser.h"

namespace realizar::text {

class ContentTokens {
 public:
  // `idx`: the token, counted from 0. `begin`: where in the answer's text its own text begins.
  void add(uint32_t idx, size_t begin);
  // `text` is what the answer's text goes on with, and `events` what a parser has made of it. Gives each token of
  // content once, also one that has only a part in it.
  std::vector<uint32_t> take(std::string_view text, const std::vector<OutputEvent>& events);
  // The first token of which it is open whether it is content.
  std::optional<uint32_t> first_waiting() const {
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().idx);
  }

 private:
  struct Span {
    size_t begin, end;
    bool is_content;
  };
  std::vector<Span> spans_of(const std::vector<OutputEvent>& events) const;
  void release(const Span& span, std::vector<uint32_t>& content);
  size_t end_of_first() const;

  struct Waiting {
    uint32_t idx;
    size_t begin;
  };
  std::deque<Waiting> waiting_;
  std::string text_;     // that no event has told of
  size_t n_before_ = 0;  // bytes of text before it
};

}  // namespace realizar::text
