// Draws tokens from the caller's own logits: from LanguageModel::logits, from several models combined, or from any
// other source. The sampler chain is the engine's, so the tokens are the same.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "realizar/request.h"
#include "realizar/result.h"

namespace realizar {

// A sampler for one text, used by one thread at a time. Greedy: temperature 0. Top-k: top_k. A draw is a function of
// (params, logits, history), and with Mirostat also of the draws before it.
class TokenSampler {
 public:
  // `n_vocab`: length of a row of logits. If SamplingParams::dry_breakers is null, there are no breakers. Errors:
  // InvalidArgument naming the parameter.
  static Result<TokenSampler> create(uint32_t n_vocab, const SamplingParams& params);
  TokenSampler(TokenSampler&&) noexcept;
  TokenSampler& operator=(TokenSampler&&) noexcept;
  ~TokenSampler();

  // logits: [n_vocab]. `history`: prompt and output so far, for penalties and DRY; its length is the position that keys
  // the draw, along with the seed. `allowed`: a bit for each allowed token, 64 a word; empty: all are allowed. Errors:
  // InvalidArgument for a wrong number of logits or words, or ids outside the vocabulary; Internal if no token can be
  // drawn, since a logit is NaN or +infinity, or all allowed ones are -infinity.
  Result<TokenId> sample(std::span<const float> logits, std::span<const TokenId> history = {},
                         std::span<const uint64_t> allowed = {});
  // Forgets the draws, to start another text.
  void reset();

 private:
  struct Impl;
  explicit TokenSampler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar
