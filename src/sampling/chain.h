// The chain in any order and with every sampler. Sampler's usual path gives the same tokens faster if it can.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "realizar/request.h"
#include "sampling/candidates.h"
#include "sampling/sampler_state.h"

namespace realizar {

// True if the request keeps the default order and uses only temperature, top-k, typical, top-p, min-p and penalties.
bool is_usual_chain(const SamplingParams& params);

// The samplers that the request uses, in their order.
std::span<const SamplerKind> order_of(const SamplingParams& params);

// Memory of a Sampler, with room for the vocabulary or for a history.
struct ChainScratch {
  std::span<float> logits;         // [n_vocab]
  std::span<uint32_t> counts;      // [n_vocab], all zero between uses
  std::vector<uint32_t>& matches;  // for DRY
  Candidates& candidates;
};

class Chain {
 public:
  Chain(const SamplingParams& params, std::span<const TokenId> history, ChainScratch scratch)
      : params_(params), history_(history), scratch_(scratch), candidates_(scratch.candidates) {}

  // logits: [n_vocab], after bias and constraint, a prediction (finite.h).
  TokenId sample(std::span<const float> logits, SamplerState& state);

 private:
  void apply(SamplerKind kind, const SequenceBreakers* breakers);
  template <class Change>
  void change_logits(const Change& change);
  template <class Keep>
  void filter(bool is_on, double least, const Keep& keep);
  void keep_top_k();
  void take_temperature();
  void sort(double least);
  double largest_p();
  void weigh();  // computes the candidates' probabilities

  const SamplingParams& params_;
  const std::span<const TokenId> history_;
  const ChainScratch scratch_;
  Candidates& candidates_;
  double temperature_ = 1;  // divisor of the logits
  // Candidates are also drawn in the order of ids, unless a sampler has sorted them by logit.
  bool is_sorted_ = false, is_by_id_ = true, has_p_ = false;
};

}  // namespace realizar
