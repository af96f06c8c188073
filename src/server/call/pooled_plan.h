// Plans for requests that generate no text: vectors of texts, and scores of pairs of texts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/call/plan_run.h"
#include "server/call/request_context.h"
#include "server/http/json_pieces.h"

namespace realizar::server {

// One request for each of n_prompts, whose tokens `read` returns; without the writer. Errors: those of `read` and
// ContextLengthExceeded; if the body's field is a list they name the prompt's index.
Result<CompletionPlan> pooled_plan(size_t n_prompts, const char* field, bool is_list, Pooling pooling,
                                   const ServedModel& model, const RequestContext& context,
                                   const std::function<Result<std::vector<TokenId>>(size_t i)>& read);

// The tokens of a text, at most `most`: a longer text loses its end, but not the token that the vocabulary appends.
std::vector<TokenId> first_tokens(const std::string& text, size_t most, const ServedModel& model);

struct TextPair {
  std::string query, document;
};

// Likewise for a model that ranks (check_ranks), with a request for each pair. `field`: the body's field with the
// documents. Errors: InvalidArgument, ContextLengthExceeded.
Result<CompletionPlan> pair_plan(const std::vector<TextPair>& pairs, const char* field, const ServedModel& model,
                                 const RequestContext& context);

// The first values of a vector trained for that (Matryoshka), normalized to length 1.
std::vector<float> shortened(std::vector<float> values, size_t n_values);

// The numbers as a list, each in the shortest decimal form of the float.
Json vector_json(std::vector<float> values, JsonPieces& pieces);

}  // namespace realizar::server
