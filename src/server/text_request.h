// What every dialect of plain completions asks: prompts, and what is to be written after each.
#pragma once

#include <memory>
#include <vector>

#include "server/completion.h"
#include "server/request_fields.h"

namespace realizar::server {

struct TextRequest {
  GenerationFields generation;
  std::vector<std::vector<TokenId>> prompts;
  uint32_t best_of = 1;   // answers that are made for each prompt, of which generation.n are shown
  bool echo = false;      // each answer begins with its prompt
  bool logprobs = false;  // are shown
};

// Reads a completion's body. Errors: InvalidArgument naming the field, ContextLengthExceeded.
Result<TextRequest> read_text_request(Fields& body, const ServedModel& model, const Call& call);

// The plan of its answers, without a speller.
CompletionPlan plan_of(TextRequest text);

}  // namespace realizar::server
