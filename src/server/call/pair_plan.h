// Pairs of texts for a reranker, one request each.
#pragma once

#include <string>
#include <vector>

#include "server/call/plan_run.h"
#include "server/call/request_context.h"

namespace realizar::server {

struct TextPair {
  std::string query, document;
};

// Of a model that ranks (check_ranks), all but the speller. `field`: of the body, in which errors name a document by
// its place. Errors: InvalidArgument, ContextLengthExceeded.
Result<CompletionPlan> pair_plan(const std::vector<TextPair>& pairs, const char* field, const ServedModel& model,
                                 const RequestContext& context);

}  // namespace realizar::server
