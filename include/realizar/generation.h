// The results of a request: tokens as they are generated, and the whole generation at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "realizar/types.h"

namespace realizar {

struct TokenLogprob {
  TokenId id;
  float logprob;  // natural logarithm, in the model's distribution before the sampler chain, or after it
};

struct TokenEvent {
  TokenId id;
  uint32_t index;                     // 0 for the first generated token
  std::optional<float> logprob;       // if requested
  std::span<const TokenLogprob> top;  // likeliest first; valid during the call
  bool is_prompt = false;             // a token of the prompt, with its position there as `index`
  double ms = 0;                      // for a generated token: since the one before it; for the first: since the
                                      // request
  double device_ms = 0;               // the device's part of that; the rest is the host's
};

// Called with every token as soon as it is known; false stops the generation.
using TokenCallback = std::function<bool(const TokenEvent&)>;

enum class FinishReason : uint8_t { kStop, kLength, kContext, kCancelled, kDeadline, kError };
const char* to_string(FinishReason reason);

struct GenerationStats {
  uint32_t n_prompt = 0, n_cached = 0, n_generated = 0;
  uint32_t n_preemptions = 0;              // times that it was preempted for lack of memory
  uint32_t n_drafted = 0, n_accepted = 0;  // speculative tokens, and how many of them were right
  // queue_ms: from the request to its first step; first_token_ms: from the request to the first token.
  double queue_ms = 0, prefix_lookup_ms = 0, prefill_ms = 0, first_token_ms = 0, decode_ms = 0;
};

// The KV cache's content for some tokens, as numbers.
struct KvNumbers {
  std::vector<float> keys, values;  // [n_layers, n_tokens, n_kv_heads, head_dim] each
};

// Operations with the same name, "linear.qkv" or "attention", in steps of one phase. A step with rows of any prompt
// belongs to prefill, the others to decode.
struct TraceRow {
  std::string op;
  bool decode = false;
  uint64_t count = 0;
  double total_ms = 0;
  double bytes = 0;  // of weights and cache that they had to read
  double flops = 0;  // multiplications and additions that they had to do
};

// All operations of a phase.
struct TracePhase {
  uint64_t n_steps = 0;
  uint64_t n_tokens = 0;  // results of the steps, for all requests in them: prompt tokens read, or tokens generated
  double total_ms = 0;
  uint64_t n_computed = 0;  // tokens computed by the steps; more than the results if speculative tokens were wrong
};

struct Trace {
  std::vector<TraceRow> rows;  // for each phase, the longest first
  TracePhase prefill, decode;

  // Both phases together.
  TracePhase total() const {
    return {prefill.n_steps + decode.n_steps, prefill.n_tokens + decode.n_tokens, prefill.total_ms + decode.total_ms,
            prefill.n_computed + decode.n_computed};
  }
};

struct Generation {
  std::vector<TokenId> tokens;
  // [d_model], of length 1, if the request wants pooling; with kRank the model's raw scores; with kAll [n_prompt,
  // d_model]
  std::vector<float> embedding;
  FinishReason finish_reason = FinishReason::kStop;
  std::optional<TokenId> stop_token;  // the token that ended it, for kStop by token
  GenerationStats stats;
  std::optional<Trace> trace;  // of the steps in which it took part, if requested
};

}  // namespace realizar
