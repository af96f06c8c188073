// The prompts of Ollama's API: chats that lose their oldest messages where they are too long, and plain texts.
#pragma once

#include <string>

#include "server/call/chat_request.h"
#include "server/dialects/ollama/ollama.h"

namespace realizar::server {

// Where a prompt ends at the latest: the request's num_ctx, or the model's context.
uint32_t max_ollama_context(const OllamaRequest& request, const ServedModel& model);

// The prompt of request.chat with these messages and `chat_template` (null: the model's). One that is too long loses
// the oldest messages that are no system messages, but never the last; then the middle of what is left. Errors: those
// of read_chat_prompt; ContextLengthExceeded where the request is not to be cut.
Result<ChatPrompt> read_ollama_chat_prompt(const OllamaRequest& request, const Json& messages,
                                           const text::ChatTemplate* chat_template, const ServedModel& model);

// Leaves the first n_keep tokens and the last ones, one fewer together than the context, so that there is an answer.
// Errors: ContextLengthExceeded where there are too many and the request is not to be cut.
Status cut_ollama_prompt(const OllamaRequest& request, const char* field, const ServedModel& model,
                         std::vector<TokenId>& tokens);

}  // namespace realizar::server
