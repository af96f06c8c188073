#include "server/text_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"
#include "server/chat_prompt.h"
#include "server/context.h"
#include "server/infill.h"
#include "server/logprobs.h"

namespace realizar::server {
namespace {

constexpr uint32_t kDefaultMaxTokens = 16;  // as OpenAI's API has it

Error wrong_prompt() {
  return invalid_argument("prompt: expected a string, an array of strings, of token ids, or of arrays of token ids",
                          "prompt");
}

bool is_ids(const Json& json) {
  return json.is_array() && !json.empty() &&
         std::all_of(json.begin(), json.end(), [](const Json& id) { return token_id_of(id).has_value(); });
}

Result<std::vector<TokenId>> read_prompt(const Json& prompt, const ServedModel& model) {
  if (prompt.is_string()) {
    const auto& text = prompt.get_ref<const std::string&>();
    RZ_CHECK_OK(check_text_length(text.size(), "prompt", model));
    return model.tokenizer().encode(text);
  }
  if (!is_ids(prompt)) return wrong_prompt();
  std::vector<TokenId> ids;
  for (const Json& id : prompt) ids.push_back(TokenId{*token_id_of(id)});
  return ids;
}

// With a suffix the prompt is what stands before the gap.
Result<std::vector<TokenId>> read_infill(const Json& prompt, const std::string& suffix, const ServedModel& model) {
  if (!prompt.is_string()) return wrong_prompt();
  const auto& before = prompt.get_ref<const std::string&>();
  RZ_CHECK_OK(check_text_length(before.size() + suffix.size(), "prompt", model));
  auto tokens = infill_prompt(model.tokenizer(), before, suffix);
  if (!tokens) return invalid_argument("suffix: this model cannot infill", "suffix");
  return std::move(*tokens);
}

Result<std::vector<std::vector<TokenId>>> read_prompts(Fields& body, const ServedModel& model, const Call& call) {
  static const Json kNone;
  const Json* given = body.any("prompt");
  const Json& prompt = given == nullptr ? kNone : *given;
  const Json* suffix = body.any("suffix");
  const bool infills = suffix != nullptr && suffix->is_string() && !suffix->get_ref<const std::string&>().empty();
  const bool is_one = prompt.is_string() || is_ids(prompt);
  if (!is_one && (!prompt.is_array() || prompt.empty() || prompt.size() > 128)) return wrong_prompt();
  std::vector<std::vector<TokenId>> prompts;
  for (size_t i = 0; i < (is_one ? 1 : prompt.size()); ++i) {
    const Json& one = is_one ? prompt : prompt[i];
    auto tokens = infills ? read_infill(one, suffix->get<std::string>(), model) : read_prompt(one, model);
    const Status status = tokens.ok() ? check_prompt_length(tokens->size(), "prompt", model, call) : tokens.error();
    if (!status.ok()) return is_one ? status.error() : of_item(status.error(), "prompt", i);
    prompts.push_back(std::move(*tokens));
  }
  return prompts;
}

// logprobs is a number here: 0 gives the chosen tokens alone.
void read_text_logprobs(Fields& body, Request& request) {
  const auto n_top = body.integer("logprobs", 0, kMaxTopLogprobs);
  request.logprobs = n_top.has_value();
  request.n_logprobs = static_cast<uint32_t>(n_top.value_or(0));
}

// What of the body is not the prompt.
Result<TextRequest> read_options(Fields& body, const ServedModel& model, const Call& call) {
  TextRequest text;
  RZ_TRY(text.generation, read_generation_fields(body, model, call));
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

Result<TextRequest> read_text_request(Fields& body, const ServedModel& model, const Call& call) {
  RZ_TRY(TextRequest text, read_options(body, model, call));
  RZ_TRY(text.prompts, read_prompts(body, model, call));
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
