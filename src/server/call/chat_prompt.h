// Converts a chat's messages and tools to the prompt's tokens, and to the plan of its answers.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/call/chat_request.h"
#include "server/call/plan_run.h"
#include "server/call/request_context.h"

namespace realizar::server {

struct ChatPrompt {
  std::vector<TokenId> tokens;
  std::string text;
  text::AnswerOptions choice;                   // how the answer is split
  std::shared_ptr<TokenConstraint> constraint;  // on the answer; null: none
  std::optional<uint32_t> reasoning_budget;     // tokens after which reasoning is ended; absent: unlimited
  std::vector<std::string> custom_tools;        // names of tools whose calls have a text instead of arguments
};

// Errors: InvalidArgument, Unsupported and ContextLengthExceeded naming the client's field; the template's own.
// `chat_template`: used instead of the model's.
Result<ChatPrompt> chat_prompt(const ChatRequest& chat, const ServedModel& model,
                               const text::ChatTemplate* chat_template = nullptr);

// A plan with the settings that all its requests share, but without requests and a writer.
CompletionPlan empty_plan(const GenerationFields& generation, text::AnswerOptions choice = {});

// The plan of a chat's answers, without a writer.
CompletionPlan plan_of(GenerationFields generation, ChatPrompt prompt, const ServedModel& model,
                       const RequestContext& context);

// The chat without the messages before the one at `first`, except those for which `stays` is true.
ChatRequest newest_messages(const ChatRequest& chat, size_t first, bool (*stays)(const ChatMessage& message));

// Drops as few of a chat's oldest messages as possible. `firsts`: candidates for the oldest remaining message, not
// empty; even the last of them may be too long. `render`: the prompt from that message on.
Result<ChatPrompt> fit_newest(const std::vector<size_t>& firsts,
                              const std::function<Result<ChatPrompt>(size_t first)>& render,
                              const std::function<bool(const Result<ChatPrompt>& prompt)>& fits);

// The longest text that can fit in a context: every token as long as the vocabulary's longest.
size_t max_text_bytes(const ServedModel& model);
// Call it before consecutive texts are tokenized, which takes time and memory. Errors: ContextLengthExceeded, with the
// number of tokens if that is quickly known.
Status check_text_length(std::span<const std::string_view> texts, const char* field, const ServedModel& model);
inline Status check_text_length(std::initializer_list<std::string_view> texts, const char* field,
                                const ServedModel& model) {
  return check_text_length(std::span(texts.begin(), texts.size()), field, model);
}
Status check_text_length(std::span<const text::PromptPiece> pieces, const char* field, const ServedModel& model);
// Errors: ContextLengthExceeded with both numbers; InvalidArgument beyond the server's own limit.
Status check_prompt_length(size_t n_tokens, const char* field, const ServedModel& model, const RequestContext& context);

}  // namespace realizar::server
