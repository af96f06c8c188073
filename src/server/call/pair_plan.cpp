#include "server/call/pair_plan.h"

#include "api/ranking.h"
#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/tenant.h"

namespace realizar::server {
namespace {

Result<std::vector<TokenId>> read_pair(const TextPair& pair, const char* field, const ServedModel& model,
                                       const Call& call) {
  RZ_CHECK_OK(check_text_length({pair.query, pair.document}, field, model));
  RZ_TRY(auto tokens, rank_prompt(*model.loaded, pair.query, pair.document));
  RZ_CHECK_OK(check_prompt_length(tokens.size(), field, model, call));
  return tokens;
}

}  // namespace

Result<CompletionPlan> pair_plan(const std::vector<TextPair>& pairs, const char* field, const ServedModel& model,
                                 const Call& call) {
  CompletionPlan plan;
  plan.n_per_prompt = 1;
  plan.prompt_field = field;
  for (size_t i = 0; i < pairs.size(); ++i) {
    auto tokens = read_pair(pairs[i], field, model, call);
    if (!tokens.ok()) return of_item(tokens.error(), field, i);
    Request request;
    request.prompt = std::move(*tokens);
    request.pooling = Pooling::kRank;
    if (!call.adapter.empty()) request.adapter = call.adapter;
    request.tenant = call.tenant;
    request.cache_salt = cache_salt_of(call, model);
    if (call.context.options.request_timeout_ms > 0) request.timeout_ms = call.context.options.request_timeout_ms;
    plan.requests.push_back(std::move(request));
  }
  return plan;
}

}  // namespace realizar::server
