// The common part of requests to /api/chat and /api/generate, and their prompts: chats that lose their oldest messages
// if they are too long, and plain texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/call/chat_prompt.h"
#include "server/call/chat_request.h"
#include "server/dialects/ollama/ollama.h"
#include "server/models/model_aliases.h"

namespace realizar::server {

struct OllamaRequest : ChatReading {
  OllamaRequest(const ServedModel& served, const RequestContext& asked);

  std::string model_name;     // the client's spelling
  ModelAliasPtr made;         // null: the name is not an alias
  bool truncates = true;      // a prompt that is too long is cut
  bool renders_only = false;  // the answer is the rendered prompt
  bool shifts = false;        // an answer continues when the context is full
  uint32_t max_context = 0;   // of prompt and answer; 0: the model's
  uint32_t n_keep = 4;        // tokens of a prompt's beginning that cutting leaves
  std::optional<KeepAlive> keep_alive;
};

// Errors: InvalidArgument naming the field, including requests for thinking that the model cannot do.
Status read_ollama_request(Fields& body, OllamaRequest& into);
KnownFields ollama_fields();

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
