// Answers that go on beyond the context, as Ollama's clients ask for with `shift`: where it is full, the older half of
// what may be forgotten is left out, and the rest is the prompt of a request that writes on. Its tokens depend on the
// request alone, as all do.
#pragma once

#include <cstdint>
#include <span>

#include "realizar/request.h"

namespace realizar::server {

struct ContextShift {
  uint32_t n_ctx = 0;       // of prompt and answer; 0: nothing is shifted
  uint32_t n_keep = 0;      // tokens of the prompt's beginning that stay, half of the context at most
  uint32_t max_tokens = 0;  // of the whole answer

  bool is_on() const { return n_ctx > 0; }
};

// What the first request may generate before the context is full.
uint32_t first_limit(const ContextShift& shift, size_t n_prompt);

// The request that goes on where `before`, which generated `tokens`, has filled the context. `n_generated`: of the
// answer so far. The constraint goes on where it stands; draws have a seed of their own.
Request shifted_request(const Request& before, std::span<const TokenId> tokens, uint32_t n_generated,
                        const ContextShift& shift);

}  // namespace realizar::server
