// Handles conversations that are longer than a model's context.
#pragma once

#include <functional>
#include <vector>

#include "server/call/chat_prompt.h"

namespace realizar::server {

// The chat without the messages before the one at `first`, except those for which `stays` is true.
ChatRequest newest_messages(const ChatRequest& chat, size_t first, bool (*stays)(const ChatMessage& message));

// Drops as few of a chat's oldest messages as possible. `firsts`: candidates for the oldest remaining message, not
// empty; even the last of them may be too long. `render`: the prompt from that message on.
Result<ChatPrompt> fit_newest(const std::vector<size_t>& firsts,
                              const std::function<Result<ChatPrompt>(size_t first)>& render,
                              const std::function<bool(const Result<ChatPrompt>& prompt)>& fits);

}  // namespace realizar::server
