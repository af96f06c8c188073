// Which of an answer's tokens its content is made of, where reasoning, calls and the marks around them lie between. One
// per answer.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/types.h"
#include "text/output/output_parser.h"

namespace realizar::server {

struct TokenInfo {
  TokenId id;
  std::string bytes;  // the token's own
  float logprob = 0;
  struct Top {
    TokenId id;
    std::string bytes;
    float logprob;
  };
  std::vector<Top> top;
};

class ContentTokens {
 public:
  // `begin`: where in the answer's text that of the token begins.
  void add(TokenInfo info, size_t begin);
  // `text` is what the answer's text goes on with, and `events` what a parser has made of it. Gives each token of
  // content once, also one that has only a part in it.
  std::vector<TokenInfo> take(std::string_view text, const std::vector<text::OutputEvent>& events);

 private:
  struct Span {
    size_t begin, end;
    bool is_content;
  };
  std::vector<Span> spans_of(const std::vector<text::OutputEvent>& events) const;
  void release(const Span& span, std::vector<TokenInfo>& content);
  size_t end_of_first() const;

  struct Waiting {
    TokenInfo info;
    size_t begin;
  };
  std::deque<Waiting> waiting_;
  std::string text_;     // that no event has told of
  size_t n_before_ = 0;  // bytes of text before it
};

}  // namespace realizar::server
