#include "engine/drafter.h"

#include <algorithm>

namespace realizar::engine {
namespace {

constexpr size_t kLongest = 3, kShortest = 2;

}  // namespace

void draft_from_history(std::span<const TokenId> tokens, uint32_t max_tokens, std::vector<TokenId>& drafts) {
  drafts.clear();
  for (size_t n = kLongest; n >= kShortest && max_tokens > 0; --n) {
    if (tokens.size() <= n) continue;
    const auto ending = tokens.last(n);
    const auto before = tokens.first(tokens.size() - 1);
    const auto found = std::find_end(before.begin(), before.end(), ending.begin(), ending.end());
    if (found == before.end()) continue;
    const auto next = found + static_cast<std::ptrdiff_t>(n);
    const auto n_tokens = std::min<std::ptrdiff_t>(max_tokens, tokens.end() - next);
    drafts.assign(next, next + n_tokens);
    return;
  }
}

}  // namespace realizar::engine
