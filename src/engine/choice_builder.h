// The parameters with which a backend chooses a step's tokens by itself, for the rows where it may. Owns the arrays,
// sized at construction; a call allocates nothing.
#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"
#include "engine/scheduler.h"
#include "realizar/request.h"

namespace realizar::engine {

// The request's parameters, with its draw and without seen tokens.
inline TokenChoice choice_of(const SamplingParams& params, double u) {
  return {.is_wanted = true,
          .u = u,
          .repeat_penalty = params.repeat_penalty,
          .frequency_penalty = params.frequency_penalty,
          .presence_penalty = params.presence_penalty,
          .temperature = params.temperature,
          .top_k = static_cast<uint32_t>(params.top_k),
          .typical_p = params.typical_p,
          .top_p = params.top_p,
          .min_p = params.min_p};
}

class ChoiceBuilder {
 public:
  // max_logit_rows 0: the backend makes no choices.
  ChoiceBuilder(const Backend& backend, uint32_t max_logit_rows, uint32_t n_vocab);

  // A choice for each logit row of the plan, in order; empty if the backend makes none of them. Valid until the next
  // call.
  std::span<const TokenChoice> build(std::span<const SequencePtr> sequences, std::span<const PlannedChunk> plan);

 private:
  void append(const Sequence& sequence, const PlannedChunk& chunk);
  TokenChoice choice_after(const Sequence& sequence, uint32_t n_history);

  const Backend& backend_;
  std::vector<TokenChoice> choices_;
  std::vector<SeenToken> seen_;
  std::vector<uint32_t> counts_;  // [n_vocab], all zero between calls
};

}  // namespace realizar::engine
