// Tokens with their log-probabilities and the likeliest alternatives, as ids: 16 bytes a token and 8 an alternative.
// Their texts, which take ten times that, are made when they are spelled.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "realizar/request.h"

namespace realizar::text {
class Tokenizer;
}

namespace realizar::server {

// The bytes of a token, special ones too.
using TokenText = std::function<std::string(TokenId)>;
// `tokenizer` must outlive it.
TokenText token_text(const text::Tokenizer& tokenizer);

class TokenLog {
 public:
  struct Token {
    TokenId id;
    float logprob;
    std::span<const TokenLogprob> top;
  };

  void add(TokenId id, float logprob, std::span<const TokenLogprob> top);
  void append(const TokenLog& more);
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  size_t n_alternatives() const { return tops_.size(); }  // of all tokens
  // Valid until the next add.
  Token operator[](size_t i) const;

 private:
  struct Entry {
    TokenId id;
    float logprob;
    size_t tops_end;  // where its alternatives end
  };

  std::vector<Entry> entries_;
  std::vector<TokenLogprob> tops_;
};

}  // namespace realizar::server
