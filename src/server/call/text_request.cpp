#include "server/call/text_request.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/llama_prompts.h"
#include "server/call/logprobs.h"
#include "server/call/request_context.h"
#include "server/models/infill.h"

namespace realizar::server {
namespace {

constexpr uint32_t kDefaultMaxTokens = 16;  // as OpenAI's API has it
constexpr size_t kMaxInfills = 128;

// With a suffix the prompt is what stands before the gap.
Result<std::vector<TokenId>> read_infill(const Json& prompt, const std::string& suffix, const ServedModel& model) {
  if (!prompt.is_string()) return wrong("prompt", "expected a string or an array of strings, since there is a suffix");
  const auto& before = prompt.get_ref<const std::string&>();
  RZ_CHECK_OK(check_text_length({before, suffix}, "prompt", model));
  auto tokens = infill_prompt(model.tokenizer(), before, suffix);
  if (!tokens) return invalid_argument("suffix: this model cannot infill", "suffix");
  return std::move(*tokens);
}

Result<std::vector<std::vector<TokenId>>> read_infills(const Json& prompt, const std::string& suffix,
                                                       const ServedModel& model, const RequestContext& context) {
  const bool is_list = prompt.is_array() && !prompt.empty() && prompt.size() <= kMaxInfills;
  std::vector<std::vector<TokenId>> prompts;
  for (size_t i = 0; i < (is_list ? prompt.size() : 1); ++i) {
    auto tokens = read_infill(is_list ? prompt[i] : prompt, suffix, model);
    const Status status = tokens.ok() ? check_prompt_length(tokens->size(), "prompt", model, context) : tokens.error();
    if (!status.ok()) return is_list ? of_item(status.error(), "prompt", i) : status.error();
    prompts.push_back(std::move(*tokens));
  }
  return prompts;
}

// What a new text begins with: the token before the first, or the one that ends the text before it.
std::vector<TokenId> beginning(const text::Tokenizer& tokenizer) {
  auto tokens = tokenizer.encode("");
  const auto end = tokenizer.eos();
  if (tokens.empty() && end) tokens.push_back(*end);
  return tokens;
}

Result<std::vector<std::vector<TokenId>>> read_prompts(Fields& body, const ServedModel& model,
                                                       const RequestContext& context) {
  const Json* suffix = body.any("suffix");
  const Json* prompt = body.any("prompt");
  const bool infills = suffix != nullptr && suffix->is_string() && !suffix->get_ref<const std::string&>().empty();
  if (infills) return read_infills(prompt == nullptr ? Json() : *prompt, suffix->get<std::string>(), model, context);
  if (prompt == nullptr && body.json().contains("prompt")) {
    return std::vector<std::vector<TokenId>>{beginning(model.tokenizer())};
  }
  RZ_TRY(LlamaPrompts read, read_llama_prompts(body, model, context));
  return std::move(read.prompts);
}

// logprobs is a number here: 0 gives the chosen tokens alone.
void read_text_logprobs(Fields& body, Request& request) {
  const auto n_top = body.integer("logprobs", 0, kMaxTopLogprobs);
  request.logprobs = n_top.has_value();
  request.n_logprobs = static_cast<uint32_t>(n_top.value_or(0));
}

// What of the body is not the prompt.
Result<TextRequest> read_options(Fields& body, const ServedModel& model, const RequestContext& context) {
  TextRequest text;
  RZ_TRY(text.generation, read_generation_fields(body, model, context));
  GenerationFields& generation = text.generation;
  read_text_logprobs(body, generation.request);
  text.logprobs = generation.request.logprobs;
  text.best_of = static_cast<uint32_t>(body.integer("best_of", generation.n, 128).value_or(generation.n));
  static_cast<void>(body.text("suffix"));
  if (generation.stream && text.best_of > generation.n) body.fail("best_of", "cannot be streamed");
  text.echo = body.boolean("echo").value_or(false);
  if (!body.status().ok()) return body.status().error();
  generation.request.prompt_logprobs = text.echo && text.logprobs;
  // The best are those with the highest log-probability.
  if (text.best_of > generation.n) generation.request.logprobs = true;
  if (!generation.has_limit) generation.request.max_tokens = kDefaultMaxTokens;
  return text;
}

}  // namespace

Result<std::shared_ptr<TokenConstraint>> read_text_constraint(const Fields& body, const TokenRules& rules,
                                                              const ServedModel& model) {
  RZ_TRY(auto grammar, read_response_format(body.json(), *model.loaded->grammars));
  std::shared_ptr<TokenConstraint> form;
  if (grammar != nullptr) {
    form = make_constraint(std::move(grammar), model.tokenizer(), model.loaded->generation_config.end_tokens, {});
  }
  return with_rules(std::move(form), rules, model.loaded->info.n_vocab);
}

Result<TextRequest> read_text_request(Fields& body, const ServedModel& model, const RequestContext& context) {
  RZ_TRY(TextRequest text, read_options(body, model, context));
  RZ_TRY(text.prompts, read_prompts(body, model, context));
  if (text.prompts.size() * text.best_of > kMaxAnswers) {
    return invalid_argument(fmt::format("n: {} prompts with {} answers each are more than {} answers",
                                        text.prompts.size(), text.best_of, kMaxAnswers),
                            "n");
  }
  RZ_TRY(text.generation.request.constraint, read_text_constraint(body, text.generation.rules, model));
  return text;
}

CompletionPlan plan_of(TextRequest text) {
  CompletionPlan plan;
  plan.n_per_prompt = text.best_of;
  plan.prompt_field = "prompt";
  plan.stream = text.generation.stream;
  plan.id_slot = text.generation.id_slot;
  plan.choice.stop = std::move(text.generation.stop);
  plan.choice.min_tokens = text.generation.rules.min_tokens;
  Request& request = text.generation.request;
  for (auto& tokens : text.prompts) {
    request.prompt = std::move(tokens);
    for (uint32_t i = 0; i < text.best_of; ++i) plan.requests.push_back(nth_request(request, i));
  }
  return plan;
}

}  // namespace realizar::server
