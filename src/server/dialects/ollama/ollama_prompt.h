// The prompts of Ollama's API: chats that lose their oldest messages where they are too long, and plain texts.
#pragma once

#include <string>
#include <vector>

#include "server/call/chat_prompt.h"
#include "server/dialects/ollama/ollama_request.h"

namespace realizar::server {

// Reads a list of messages. Errors: InvalidArgument for what is no message, and for images.
Result<std::vector<ChatMessage>> read_ollama_messages(const Json& messages);

// Where a prompt ends at the latest: the request's num_ctx, or the model's context.
uint32_t max_ollama_context(const OllamaRequest& request);

// The prompt of the request's chat with `chat_template` (null: the model's). One that is too long loses the oldest
// messages that are no system messages, but never the last; then the middle of what is left. Errors: those of
// chat_prompt; ContextLengthExceeded where the request is not to be cut.
Result<ChatPrompt> ollama_chat_prompt(const OllamaRequest& request, const text::ChatTemplate* chat_template);

// Leaves the first n_keep tokens and the last ones, one fewer together than the context, so that there is an answer.
// Errors: ContextLengthExceeded where there are too many and the request is not to be cut.
Status cut_ollama_prompt(const OllamaRequest& request, const char* field, std::vector<TokenId>& tokens);

}  // namespace realizar::server
