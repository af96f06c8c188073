// Conversations that are longer than a model's context.
#pragma once

#include <functional>
#include <vector>

#include "server/call/chat_prompt.h"

namespace realizar::server {

// The chat without the messages before the one at `first`, but for those that `stays` says stay.
ChatRequest newest_messages(const ChatRequest& chat, size_t first, bool (*stays)(const ChatMessage& message));

// Leaves out as many of a chat's oldest messages as must be. `firsts`: which ones may be the oldest that is left, not
// empty; the last of them may be too long by itself. `render`: the prompt from that message on.
Result<ChatPrompt> fit_newest(const std::vector<size_t>& firsts,
                              const std::function<Result<ChatPrompt>(size_t first)>& render,
                              const std::function<bool(const Result<ChatPrompt>& prompt)>& fits);

}  // namespace realizar::server
