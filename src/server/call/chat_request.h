// What every dialect of chats asks, however it spells that.
#pragma once

#include "server/call/chat_prompt.h"
#include "server/call/completion_plan.h"
#include "server/call/request_fields.h"

namespace realizar::server {

struct ChatRequest {
  GenerationFields generation;
  ChatPrompt prompt;
};

// Reads a chat completion's body. `messages`: the dialect's field that holds them. Errors: those of
// read_generation_fields, read_chat_prompt and check_prompt_length.
Result<ChatRequest> read_chat_request(Fields& body, const char* messages, const ServedModel& model,
                                      const RequestContext& context);

// The plan of its answers, without a speller.
CompletionPlan plan_of(ChatRequest chat, const ServedModel& model, const RequestContext& context);

}  // namespace realizar::server
