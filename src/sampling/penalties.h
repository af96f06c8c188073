// Makes tokens that were seen in the last repeat_last_n tokens of prompt and output less likely, once for each distinct
// token: the repetition penalty (Keskar et al. 2019, CTRL, section 4.1: positive logits are divided, negative
// multiplied), then frequency (times seen) and presence (seen at all), as OpenAI's API defines them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "realizar/request.h"

namespace realizar {

inline bool has_penalties(const SamplingParams& params) {
  return params.repeat_last_n != 0 &&
         (params.repeat_penalty != 1.0f || params.frequency_penalty != 0.0f || params.presence_penalty != 0.0f);
}

// `counts`: [n_vocab], all zero before and after.
inline void apply_penalties(const SamplingParams& params, std::span<const TokenId> history, std::span<float> logits,
                            std::vector<uint32_t>& counts) {
  const size_t n_window =
      params.repeat_last_n < 0 ? history.size() : std::min(history.size(), static_cast<size_t>(params.repeat_last_n));
  const auto window = history.last(n_window);
  for (const TokenId id : window) ++counts[static_cast<size_t>(to_index(id))];
  for (const TokenId id : window) {
    const auto i = static_cast<size_t>(to_index(id));
    const uint32_t n_seen = counts[i];
    if (n_seen == 0) continue;
    counts[i] = 0;
    if (params.repeat_penalty != 1.0f)
      logits[i] = logits[i] > 0 ? logits[i] / params.repeat_penalty : logits[i] * params.repeat_penalty;
    logits[i] -= static_cast<float>(n_seen) * params.frequency_penalty + params.presence_penalty;
  }
}

}  // namespace realizar
