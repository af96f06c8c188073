// Lowers the logits of tokens seen in the last repeat_last_n tokens of prompt and output, once for each distinct token:
// the repetition penalty (Keskar et al. 2019, CTRL, section 4.1: positive logits are divided, negative ones
// multiplied), then frequency (times seen) and presence (seen at all), as OpenAI's API defines them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "realizar/request.h"

namespace realizar {

inline bool has_penalties(const SamplingParams& params) {
  return params.repeat_last_n != 0 &&
         (params.repeat_penalty != 1.0f || params.frequency_penalty != 0.0f || params.presence_penalty != 0.0f);
}

// Calls visit(id, n_seen) once for each token within the penalties' range. `counts`: [n_vocab], all zero before and
// after.
template <class Visit>
void for_each_seen(const SamplingParams& params, std::span<const TokenId> history, std::span<uint32_t> counts,
                   const Visit& visit) {
  const size_t n_window =
      params.repeat_last_n < 0 ? history.size() : std::min(history.size(), static_cast<size_t>(params.repeat_last_n));
  const auto window = history.last(n_window);
  for (const TokenId id : window) ++counts[static_cast<size_t>(to_index(id))];
  for (const TokenId id : window) {
    const uint32_t n_seen = std::exchange(counts[static_cast<size_t>(to_index(id))], 0);
    if (n_seen > 0) visit(id, n_seen);
  }
}

inline void apply_penalties(const SamplingParams& params, std::span<const TokenId> history, std::span<float> logits,
                            std::span<uint32_t> counts) {
  for_each_seen(params, history, counts, [&](TokenId id, uint32_t n_seen) {
    float& logit = logits[static_cast<size_t>(to_index(id))];
    if (params.repeat_penalty != 1.0f) {
      logit = logit > 0 ? logit / params.repeat_penalty : logit * params.repeat_penalty;
    }
    logit -= static_cast<float>(n_seen) * params.frequency_penalty + params.presence_penalty;
  });
}

}  // namespace realizar
