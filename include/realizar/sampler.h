// Draws tokens from logits that the caller has: of LanguageModel::logits, of several models together, or of any other
// source. The chain of samplers is the engine's, and so are the tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "realizar/request.h"
#include "realizar/result.h"

namespace realizar {

// One text's sampler, used by one thread at a time. Greedy: temperature 0. Top-k: top_k. A draw is a function of
// (params, logits, history), and with Mirostat of the draws before it.
class TokenSampler {
 public:
  // `n_vocab`: numbers of a row of logits. SamplingParams::dry_breakers that are null: there are none. Errors:
  // InvalidArgument naming the parameter.
  static Result<TokenSampler> create(uint32_t n_vocab, const SamplingParams& params);
  TokenSampler(TokenSampler&&) noexcept;
  TokenSampler& operator=(TokenSampler&&) noexcept;
  ~TokenSampler();

  // logits: [n_vocab]. `history`: prompt and output so far, which penalties and DRY see; its length is the position
  // that the draw is keyed by beside the seed. `allowed`: a bit for each token that may come, 64 a word; empty: all
  // may. Errors: InvalidArgument, for another number of logits or words, or ids outside the vocabulary; Internal where
  // no token can be drawn, since a logit is NaN or +infinity, or all that are allowed are -infinity.
  Result<TokenId> sample(std::span<const float> logits, std::span<const TokenId> history = {},
                         std::span<const uint64_t> allowed = {});
  // Forgets the draws, for another text.
  void reset();

 private:
  struct Impl;
  explicit TokenSampler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar
