#include "server/call/pair_plan.h"

#include "api/ranking.h"
#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/request_fields.h"

namespace realizar::server {
namespace {

Result<std::vector<TokenId>> read_pair(const TextPair& pair, const char* field, const ServedModel& model,
                                       const RequestContext& context) {
  RZ_CHECK_OK(check_text_length({pair.query, pair.document}, field, model));
  RZ_TRY(auto tokens, rank_prompt(*model.loaded, pair.query, pair.document));
  RZ_CHECK_OK(check_prompt_length(tokens.size(), field, model, context));
  return tokens;
}

}  // namespace

Result<CompletionPlan> pair_plan(const std::vector<TextPair>& pairs, const char* field, const ServedModel& model,
                                 const RequestContext& context) {
  CompletionPlan plan;
  plan.n_per_prompt = 1;
  plan.prompt_field = field;
  for (size_t i = 0; i < pairs.size(); ++i) {
    auto tokens = read_pair(pairs[i], field, model, context);
    if (!tokens.ok()) return of_item(tokens.error(), field, i);
    plan.requests.push_back(pooled_request(std::move(*tokens), Pooling::kRank, model, context));
  }
  return plan;
}

}  // namespace realizar::server
