#include "server/call/text_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/llama_prompts.h"
#include "server/call/logprobs.h"
#include "server/call/request_context.h"
#include "server/models/answer_form.h"
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

Result<std::vector<std::vector<TokenId>>> read_prompts(const Fields& body, const std::string& suffix,
                                                       const ServedModel& model, const RequestContext& context) {
  const Json* prompt = body.any("prompt");
  if (!suffix.empty()) return read_infills(prompt == nullptr ? Json() : *prompt, suffix, model, context);
  if (prompt == nullptr && body.json().contains("prompt")) {
    return std::vector<std::vector<TokenId>>{beginning(model.tokenizer())};
  }
  RZ_TRY(LlamaPrompts read, read_llama_prompts(body, model, context));
  return std::move(read.prompts);
}

struct TextReading : GenerationReading {
  using GenerationReading::GenerationReading;

  TextRequest text;
  std::string suffix;
};

// A number here: 0 gives the chosen tokens alone.
Status read_text_logprobs(Fields& body, const char* name, TextReading& into) {
  const auto n_top = body.integer(name, 0, kMaxTopLogprobs);
  if (!n_top) return body.status();
  into.text.logprobs = true;
  into.generation.request.n_logprobs = static_cast<uint32_t>(*n_top);
  return {};
}

Status read_best_of(Fields& body, const char* name, TextReading& into) {
  const uint32_t n = into.generation.n;
  const auto best_of = body.integer(name, n, 128);
  if (!best_of) return body.status();
  if (into.generation.stream && *best_of > n) return body.wrong(name, "cannot be streamed");
  into.text.best_of = static_cast<uint32_t>(*best_of);
  return {};
}

constexpr Field<TextReading> kTextFields[] = {
    {"model", apart},
    {"logprobs", read_text_logprobs},
    {"best_of", read_best_of},
    {"suffix", take_string<&TextReading::suffix>},
    {"echo", take_flag<&TextReading::text, &TextRequest::echo>},
    {"prompt", apart},
};

}  // namespace

Status constrain_text(const Json& body, GenerationFields& generation, const ServedModel& model) {
  RZ_TRY(const AnswerForm form, read_answer_form(body));
  RZ_TRY(auto masks, masks_of(form, *model.loaded->grammars));
  std::shared_ptr<TokenConstraint> constraint;
  if (masks != nullptr) {
    constraint = make_constraint(std::move(masks), model.tokenizer(), model.loaded->generation_config.end_tokens, {});
  }
  generation.request.constraint = with_rules(std::move(constraint), generation.rules, model.loaded->info.n_vocab);
  return {};
}

Result<TextRequest> read_text_request(Fields& body, const ServedModel& model, const RequestContext& context) {
  TextReading asked(model, context);
  RZ_CHECK_OK(read_generation_fields(body, asked));
  RZ_CHECK_OK(read_fields(kTextFields, body, asked));
  RZ_CHECK_OK(asked.finish_generation());
  TextRequest text = std::move(asked.text);
  text.generation = std::move(asked.generation);
  Request& request = text.generation.request;
  text.best_of = std::max(text.best_of, text.generation.n);
  request.prompt_logprobs = text.echo && text.logprobs;
  // The best are those with the highest log-probability.
  request.logprobs = text.logprobs || text.best_of > text.generation.n;
  if (!text.generation.has_limit) request.max_tokens = kDefaultMaxTokens;
  RZ_TRY(text.prompts, read_prompts(body, asked.suffix, model, context));
  if (text.prompts.size() * text.best_of > kMaxAnswers) {
    return invalid_argument(fmt::format("n: {} prompts with {} answers each are more than {} answers",
                                        text.prompts.size(), text.best_of, kMaxAnswers),
                            "n");
  }
  RZ_CHECK_OK(constrain_text(body.json(), text.generation, model));
  return text;
}

KnownFields text_fields() {
  return known_in(kTextFields, generation_fields(), form_fields());
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
