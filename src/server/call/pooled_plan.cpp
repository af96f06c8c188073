#include "server/call/pooled_plan.h"

#include <cmath>
#include <utility>

#include "api/ranking.h"
#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/request_fields.h"
#include "text/utf8.h"

namespace realizar::server {

Result<CompletionPlan> pooled_plan(size_t n_prompts, const char* field, bool is_list, Pooling pooling,
                                   const ServedModel& model, const RequestContext& context,
                                   const std::function<Result<std::vector<TokenId>>(size_t i)>& read) {
  CompletionPlan plan;
  plan.n_per_prompt = 1;
  plan.prompt_field = field;
  for (size_t i = 0; i < n_prompts; ++i) {
    auto tokens = read(i);
    const Status status = tokens.ok() ? check_prompt_length(tokens->size(), field, model, context) : tokens.error();
    if (!status.ok()) return is_list ? of_item(status.error(), field, i) : status.error();
    Request& request = plan.requests.emplace_back();
    request.prompt = std::move(*tokens);
    request.pooling = pooling;
    if (!context.adapter.empty()) request.adapter = context.adapter;
    request.tenant = context.tenant;
    request.cache_salt = cache_salt_of(context.key, model);
    if (context.request_timeout_ms > 0) request.timeout_ms = context.request_timeout_ms;
  }
  return plan;
}

std::vector<TokenId> first_tokens(const std::string& text, size_t most, const ServedModel& model) {
  const auto encode = [&](std::string_view part) {
    return model.tokenizer().encode(part, {.add_special = true, .parse_special = false});
  };
  auto tokens = encode(text::whole_chars(text, max_text_bytes(model)));
  if (tokens.size() <= most) return tokens;
  const auto around = encode("");
  const TokenId last = tokens.back();
  tokens.resize(most);
  if (!around.empty() && around.back() == last) tokens.back() = last;
  return tokens;
}

Result<CompletionPlan> pair_plan(const std::vector<TextPair>& pairs, const char* field, const ServedModel& model,
                                 const RequestContext& context) {
  const auto read = [&](size_t i) -> Result<std::vector<TokenId>> {
    RZ_CHECK_OK(check_text_length({pairs[i].query, pairs[i].document}, field, model));
    return rank_prompt(*model.loaded, pairs[i].query, pairs[i].document);
  };
  return pooled_plan(pairs.size(), field, true, Pooling::kRank, model, context, read);
}

std::vector<float> shortened(std::vector<float> values, size_t n_values) {
  values.resize(n_values);
  double square_sum = 0;
  for (const float x : values) square_sum += double{x} * x;
  const double scale = square_sum > 0 ? 1 / std::sqrt(square_sum) : 0;
  for (float& x : values) x = static_cast<float>(x * scale);
  return values;
}

Json vector_json(std::vector<float> values, JsonPieces& pieces) {
  const size_t n_values = values.size();
  return pieces.list(n_values, [values = std::move(values)](size_t i) -> Json { return decimal(values[i]); });
}

}  // namespace realizar::server
