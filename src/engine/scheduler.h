// What the next step computes: a pure function of the sequences and a token budget. All decoding sequences first, one
// token each; then prompt chunks, in order of arrival, up to the budget. Knows no model, device or clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/sequence.h"

namespace realizar {

struct PlannedChunk {
  uint32_t seq_idx;
  uint32_t n_tokens;  // from position n_computed on
  bool is_decode;
  bool wants_logits;  // the chunk reaches the last token that is known
};

// Clears and fills `plan`, which has the capacity for all sequences.
inline void plan_step(std::span<const Sequence> sequences, uint32_t max_tokens, std::vector<PlannedChunk>& plan) {
  plan.clear();
  uint32_t n_left = max_tokens;
  for (uint32_t i = 0; i < sequences.size() && n_left > 0; ++i) {
    if (!sequences[i].is_decoding()) continue;
    plan.push_back({i, 1, true, true});
    --n_left;
  }
  for (uint32_t i = 0; i < sequences.size() && n_left > 0; ++i) {
    const Sequence& seq = sequences[i];
    if (seq.is_decoding()) continue;
    const uint32_t n_tokens = std::min(seq.n_prompt - seq.n_computed, n_left);
    plan.push_back({i, n_tokens, false, seq.n_computed + n_tokens == seq.n_prompt});
    n_left -= n_tokens;
  }
}

}  // namespace realizar
