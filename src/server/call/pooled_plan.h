// Plans of what no text is generated for: the vectors of texts, and the scores of pairs of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/call/plan_run.h"
#include "server/call/request_context.h"
#include "server/http/json_pieces.h"

namespace realizar::server {

// One request for each of n_prompts, whose tokens `read` gives; all but the speller. Errors: those of `read` and
// ContextLengthExceeded, and where the body's field is a list they name the prompt by its place in it.
Result<CompletionPlan> pooled_plan(size_t n_prompts, const char* field, bool is_list, Pooling pooling,
                                   const ServedModel& model, const RequestContext& context,
                                   const std::function<Result<std::vector<TokenId>>(size_t i)>& read);

// The tokens of a text, at most `most`: what is longer loses its end, but for the token that the vocabulary puts after
// each.
std::vector<TokenId> first_tokens(const std::string& text, size_t most, const ServedModel& model);

struct TextPair {
  std::string query, document;
};

// The same for a model that ranks (check_ranks), with a request for each pair. `field`: of the body, which has the
// documents. Errors: InvalidArgument, ContextLengthExceeded.
Result<CompletionPlan> pair_plan(const std::vector<TextPair>& pairs, const char* field, const ServedModel& model,
                                 const RequestContext& context);

// The first values of a vector that was made for it (Matryoshka), of the length 1 again.
std::vector<float> shortened(std::vector<float> values, size_t n_values);

// The numbers as a list, each of which prints as shortly as the float does.
Json vector_json(std::vector<float> values, JsonPieces& pieces);

}  // namespace realizar::server
