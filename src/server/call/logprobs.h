// Log-probabilities as stored, in the two formats of OpenAI's API, and in llama.cpp's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/request.h"
#include "server/http/json.h"
#include "server/http/json_pieces.h"

namespace realizar::text {
class Tokenizer;
}

namespace realizar::server {

inline constexpr int64_t kMaxTopLogprobs = 20;

// The bytes of a token, including special ones.
using TokenText = std::function<std::string(TokenId)>;
// `tokenizer` must outlive it.
TokenText token_text(const text::Tokenizer& tokenizer);

// Tokens with their log-probabilities and the likeliest alternatives, stored as ids: 16 bytes per token and 8 per
// alternative. Their texts, which take ten times that, are made during output.
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
  size_t n_alternatives() const { return tops_.size(); }  // over all tokens
  // Valid until the next add.
  Token operator[](size_t i) const;

 private:
  struct Entry {
    TokenId id;
    float logprob;
    size_t tops_end;  // end of its alternatives
  };

  std::vector<Entry> entries_;
  std::vector<TokenLogprob> tops_;
};

// Lists of `spell`'s results for each token: as a tree, for n tokens from `first` on, and as pieces of a whole answer,
// which `log` must outlive.
template <class Spell>
Json spelled(const TokenLog& log, Spell spell, size_t first, size_t n) {
  Json list = Json::array();
  for (size_t i = first; i < first + n; ++i) list.push_back(spell(log[i]));
  return list;
}
template <class Spell>
Json spelled(const TokenLog& log, Spell spell) {
  return spelled(log, std::move(spell), 0, log.size());
}
template <class Spell>
Json spelled(const TokenLog& log, Spell spell, JsonPieces& pieces) {
  return pieces.list(log.size(), [&log, spell](size_t i) { return spell(log[i]); });
}

// For chats: {token, logprob, bytes, top_logprobs: [{token, logprob, bytes}]}. `text` must outlive it, also in the next
// type.
struct ChatLogprob {
  const TokenText& text;
  Json operator()(const TokenLog::Token& token) const;
};

// For llama.cpp's own routes: {id, token, bytes, logprob, top_logprobs: [{id, token, bytes, logprob}]}; after the
// sampler chain, prob instead of logprob, and top_probs.
struct TokenProbability {
  const TokenText& text;
  bool is_after_chain = false;
  Json operator()(const TokenLog::Token& token) const;
};

// A token's id.
Json spelled_id(const TokenLog::Token& token);

// Characters (not bytes) of UTF-8.
size_t n_characters(std::string_view text);

// For completions: {tokens, token_logprobs, top_logprobs, text_offset}. `unscored`: a token before the others, the
// first of a prompt, which has no score. `offset`: the text's length so far in characters, which is updated.
Json text_logprobs(const std::optional<std::string>& unscored, const TokenLog& log, const TokenText& text,
                   size_t& offset);
// Likewise as pieces, which all arguments must outlive.
Json text_logprobs(const std::optional<std::string>& unscored, const TokenLog& log, const TokenText& text,
                   size_t offset, JsonPieces& pieces);

}  // namespace realizar::server
