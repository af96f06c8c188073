// Guesses what comes next, to be verified in one step (speculative decoding: Leviathan et al. 2023). A wrong guess
// costs time, never a token: the verified tokens are those of plain decoding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "realizar/types.h"

namespace realizar::engine {

// Prompt lookup (Saxena 2023): what followed the latest earlier occurrence of the longest ending of up to three tokens.
// Fills `drafts`, which has the capacity, with at most max_tokens; with none where nothing repeats.
void draft_from_history(std::span<const TokenId> tokens, uint32_t max_tokens, std::vector<TokenId>& drafts);

}  // namespace realizar::engine
