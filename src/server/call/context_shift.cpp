#include "server/call/context_shift.h"

#include <algorithm>

namespace realizar::server {
namespace {

// Positions repeat after a shift, and draws are a function of (seed, position).
constexpr uint64_t kSeedStep = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio

}  // namespace

uint32_t first_limit(const ContextShift& shift, size_t n_prompt) {
  const uint32_t n_left = shift.n_ctx > n_prompt ? shift.n_ctx - static_cast<uint32_t>(n_prompt) : 1;
  return std::min(n_left, shift.max_tokens);
}

Request shifted_request(const Request& before, std::span<const TokenId> tokens, uint32_t n_generated,
                        const ContextShift& shift) {
  Request next = before;
  next.prompt.insert(next.prompt.end(), tokens.begin(), tokens.end());
  const size_t n_keep = std::min<size_t>({shift.n_keep, before.prompt.size(), shift.n_ctx / 2});
  const size_t n_most = n_keep + (shift.n_ctx - n_keep) / 2;  // tokens that stay
  if (next.prompt.size() > n_most) {
    const auto first = next.prompt.begin() + static_cast<std::ptrdiff_t>(n_keep);
    next.prompt.erase(first, first + static_cast<std::ptrdiff_t>(next.prompt.size() - n_most));
  }
  next.sampling.seed += kSeedStep;
  const uint32_t n_wanted = shift.max_tokens - std::min(shift.max_tokens, n_generated);
  next.max_tokens = std::min(n_wanted, first_limit({shift.n_ctx, 0, UINT32_MAX}, next.prompt.size()));
  return next;
}

}  // namespace realizar::server
