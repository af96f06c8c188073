// From logits to a token: the chain of samplers that SamplingParams describe. Owns its scratch, sized for a vocabulary
// at construction; a call allocates nothing. All it keeps for a request is SamplerState: the token is a function of
// (params, logits, history, state), and the state is one of the request and its tokens.
#pragma once

#include <span>
#include <vector>

#include "realizar/request.h"
#include "realizar/result.h"
#include "sampling/candidates.h"
#include "sampling/sampler_state.h"

namespace realizar {

// Errors: InvalidArgument naming the parameter, its range and the value.
Status validate(const SamplingParams& params, uint32_t n_vocab);

class Sampler {
 public:
  // `n_ctx`: the longest history for which DRY allocates nothing.
  explicit Sampler(uint32_t n_vocab, uint32_t n_ctx = 0);

  // logits: [n_vocab]. `history`: prompt and output so far; its length is the position that keys the draw. `allowed`: a
  // bit for each token that may be chosen (64 a word); empty: all may.
  // `state`: the request's state, updated by the token; null: as before the first token.
  // kNoToken if no token can be chosen: a logit is NaN or +infinity, or all allowed ones are -infinity.
  TokenId sample(const SamplingParams& params, std::span<const float> logits, std::span<const TokenId> history,
                 std::span<const uint64_t> allowed = {}, SamplerState* state = nullptr);

  // Returns the same token by a slower path that keeps the candidates for drawn_from().
  TokenId sample_and_keep(const SamplingParams& params, std::span<const float> logits, std::span<const TokenId> history,
                          std::span<const uint64_t> allowed = {}, SamplerState* state = nullptr);
  // The n likeliest tokens that sample_and_keep() has drawn from with the logarithms of their probabilities, and that
  // of `id`; the span points into the scratch and is valid until the next call.
  float drawn_logprob(TokenId id) const;
  std::span<const TokenLogprob> drawn_from(uint32_t n);

  // log softmax(logits)[id], and the n likeliest tokens with theirs (a span of the scratch, valid until the next call).
  float logprob(std::span<const float> logits, TokenId id) const;
  std::span<const TokenLogprob> top_logprobs(std::span<const float> logits, uint32_t n);

 private:
  TokenId sample(bool is_usual, const SamplingParams& params, std::span<const float> logits,
                 std::span<const TokenId> history, std::span<const uint64_t> allowed, SamplerState* state);

  std::vector<float> adjusted_;   // logits after bias and penalties
  std::vector<float> weights_;    // of the whole vocabulary, if there is no top-k
  std::vector<uint32_t> counts_;  // all zero between calls
  std::vector<uint32_t> matches_;
  Candidates candidates_;
  std::vector<TokenLogprob> top_;
};

}  // namespace realizar
