// Log-probabilities in the two shapes of OpenAI's API, and in llama.cpp's.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "server/choice.h"
#include "server/json.h"

namespace realizar::server {

inline constexpr int64_t kMaxTopLogprobs = 20;

// Of chats: [{token, logprob, bytes, top_logprobs: [{token, logprob, bytes}]}].
Json chat_logprobs(std::span<const TokenInfo> tokens);
void append_chat_logprobs(std::span<const TokenInfo> tokens, Json& list);

// Of llama.cpp's own routes: [{id, token, bytes, logprob, top_logprobs: [{id, token, bytes, logprob}]}]; of those after
// the sampler chain prob in place of logprob, and top_probs.
Json token_probabilities(std::span<const TokenInfo> tokens, bool are_after_chain);

// Characters (not bytes) of UTF-8.
size_t n_characters(std::string_view text);

// Of completions: {tokens, token_logprobs, top_logprobs, text_offset}. `offset`: the text's length so far in
// characters, which goes on.
// A token that nothing scores: the first of a prompt.
void append_unscored(const std::string& token, size_t& offset, Json& logprobs);
void append_text_logprobs(const std::vector<TokenInfo>& tokens, size_t& offset, Json& logprobs);

}  // namespace realizar::server
