// The prompts of Ollama's API: chats that lose their oldest messages if they are too long, and plain texts.
#pragma once

#include <string>
#include <vector>

#include "server/call/chat_prompt.h"
#include "server/dialects/ollama/ollama_request.h"

namespace realizar::server {

// Reads a list of messages. Errors: InvalidArgument for malformed messages, and for images.
Result<std::vector<ChatMessage>> read_ollama_messages(const Json& messages);

// The maximum end of a prompt: the request's num_ctx, or the model's context.
uint32_t max_ollama_context(const OllamaRequest& request);

// The prompt of the request's chat with `chat_template` (null: the model's). A prompt that is too long loses the oldest
// messages that are not system messages, but never the last one; then the middle of the rest. Errors: those of
// chat_prompt; ContextLengthExceeded if the request forbids cutting.
Result<ChatPrompt> ollama_chat_prompt(const OllamaRequest& request, const text::ChatTemplate* chat_template);

// Keeps the first n_keep tokens and the last ones, together one fewer than the context, so that there is an answer.
// Errors: ContextLengthExceeded if there are too many and the request forbids cutting.
Status cut_ollama_prompt(const OllamaRequest& request, const char* field, std::vector<TokenId>& tokens);

}  // namespace realizar::server
