// What every dialect of plain completions asks: prompts, and what is to be written after each.
#pragma once

#include <vector>

#include "server/call/plan_run.h"
#include "server/call/request_fields.h"

namespace realizar::server {

// Of one request: each holds some 10 to 50 KB until the last is there.
inline constexpr size_t kMaxAnswers = 1024;

struct TextRequest {
  GenerationFields generation;
  std::vector<std::vector<TokenId>> prompts;
  uint32_t best_of = 0;   // answers that are made for each prompt, of which generation.n are shown
  bool echo = false;      // each answer begins with its prompt
  bool logprobs = false;  // are shown
};

// Reads a completion's body. Errors: InvalidArgument naming the field, ContextLengthExceeded.
Result<TextRequest> read_text_request(Fields& body, const ServedModel& model, const RequestContext& context);
KnownFields text_fields();

// Holds the request's answers to the form that the body asks for and to the rules of its tokens. Errors: those of
// read_answer_form and masks_of.
Status constrain_text(const Json& body, GenerationFields& generation, const ServedModel& model);

// The plan of its answers, without a speller.
CompletionPlan plan_of(TextRequest text);

}  // namespace realizar::server
