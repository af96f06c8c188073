// Determines which of an answer's tokens form its content, among reasoning, calls and their marks. One per answer.
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
  // `idx`: the token, counted from 0. `begin`: the position of its text in the answer's text.
  void add(uint32_t idx, size_t begin);
  // `text`: the next part of the answer's text; `events`: the parser's events for it. Returns each token of content
  // once, including tokens that only partly belong to it.
  std::vector<uint32_t> take(std::string_view text, const std::vector<OutputEvent>& events);
  // The first token for which it is not decided whether it is content.
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
  std::string text_;     // not covered by an event yet
  size_t n_before_ = 0;  // bytes of the answer's text before it
};

}  // namespace realizar::text
