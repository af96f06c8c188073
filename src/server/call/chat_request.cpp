#include "server/call/chat_request.h"

#include <utility>

#include "api/reasoning_budget.h"
#include "base/try.h"
#include "server/call/request_context.h"

namespace realizar::server {

Result<ChatRequest> read_chat_request(Fields& body, const char* messages, const ServedModel& model,
                                      const RequestContext& context) {
  ChatRequest chat;
  RZ_TRY(chat.generation, read_generation_fields(body, model, context));
  RZ_TRY(chat.prompt, read_chat_prompt(body, model));
  RZ_CHECK_OK(check_prompt_length(chat.prompt.tokens.size(), messages, model, context));
  return chat;
}

CompletionPlan plan_of(ChatRequest chat, const ServedModel& model, const RequestContext& context) {
  auto& [generation, prompt] = chat;
  generation.request.prompt = std::move(prompt.tokens);
  generation.request.constraint =
      with_rules(std::move(prompt.constraint), generation.rules, model.loaded->info.n_vocab);
  if (prompt.reasoning_budget) {
    generation.request.constraint =
        with_reasoning_budget(std::move(generation.request.constraint), *prompt.choice.format, model.tokenizer(),
                              {*prompt.reasoning_budget, prompt.choice.starts_in_reasoning});
  }
  CompletionPlan plan;
  plan.stream = generation.stream;
  plan.id_slot = generation.id_slot;
  if (context.log_prompts) plan.logged_prompt = std::move(prompt.text);
  plan.choice = std::move(prompt.choice);
  plan.choice.stop = std::move(generation.stop);
  plan.choice.min_tokens = generation.rules.min_tokens;
  for (uint32_t i = 0; i < generation.n; ++i) plan.requests.push_back(nth_request(generation.request, i));
  return plan;
}

}  // namespace realizar::server
