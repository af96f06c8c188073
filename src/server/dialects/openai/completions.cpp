// POST /v1/completions (https://platform.openai.com/docs/api-reference/completions).
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/llama_prompts.h"
#include "server/call/logprobs.h"
#include "server/call/protocol.h"
#include "server/call/request_context.h"
#include "server/dialects/openai/openai_writer.h"
#include "server/models/answer_form.h"
#include "server/models/infill.h"

namespace realizar::server {
namespace {

struct TextReading : GenerationReading {
  using GenerationReading::GenerationReading;

  std::string suffix;
  uint32_t best_of = 0;   // answers generated for each prompt, of which generation.n are returned
  bool echo = false;      // each answer begins with its prompt
  bool logprobs = false;  // reported
};

struct Text {
  std::string text;
  std::optional<std::string> unscored;  // the prompt's first token, until a stream has reported it
  TokenLog log;                         // of a whole answer, including its prompt on request
  size_t offset = 0;                    // characters streamed so far
};

// The request's options that its replies depend on.
struct TextOptions {
  std::vector<std::string> echoes;  // the text before each prompt's answers; empty strings without echo
  // Each prompt's first token, where prompt tokens are scored and there is one: it has no score, since no token
  // precedes it.
  std::vector<std::optional<std::string>> first_tokens;
  uint32_t n = 1, best_of = 1;  // answers returned and generated for each prompt
  bool logprobs = false;
  bool include_usage = false;
  AnswerExtras extras;
  std::vector<size_t> n_prompt_tokens;  // for each prompt
};

class TextWriter final : public OpenAiWriter {
 public:
  TextWriter(std::string model, TokenText token, TextOptions options)
      : OpenAiWriter("cmpl-", std::move(model), options.include_usage, options.extras),
        token_(std::move(token)),
        options_(std::move(options)),
        texts_(options_.echoes.size() * options_.best_of) {
    for (size_t i = 0; i < texts_.size(); ++i) {
      texts_[i].unscored = options_.first_tokens[i / options_.best_of];
      if (!texts_[i].unscored) texts_[i].offset = n_characters(echo_of(i));
    }
  }

  std::string stream_begin() override {
    std::string bytes;
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (!echo_of(i).empty()) bytes += sse(chunk_json(choice_json(i, echo_of(i))));
    }
    return bytes;
  }

  std::string stream_update(size_t choice_idx, const ChoiceUpdate& update) override {
    const std::string text = text_of(update);
    Json logprobs;
    if (options_.logprobs) {
      TokenLog log = update.prompt_tokens;
      log.append(update.tokens);
      Text& told = texts_[choice_idx];
      logprobs = text_logprobs(std::exchange(told.unscored, std::nullopt), log, token_, told.offset);
    }
    std::string bytes =
        progress_chunks(update, choice_json(choice_idx, ""), options_.n_prompt_tokens[choice_idx / options_.best_of]);
    const bool has_any = !text.empty() || !update.tokens.empty() || !update.prompt_tokens.empty();
    if (has_any) bytes += sse(chunk_json(choice_json(choice_idx, text, std::move(logprobs)), &update.timings));
    return bytes;
  }

  std::string stream_choice_end(size_t choice_idx, const Choice& choice) override {
    const Timings timings = choice.timings();
    return sse(chunk_json(choice_json(choice_idx, "", Json(), choice.finish_reason()), &timings));
  }

  void collect(size_t choice_idx, ChoiceUpdate update) override {
    Text& text = texts_[choice_idx];
    text.text += text_of(update);
    if (!options_.logprobs) return;
    text.log.append(update.prompt_tokens);
    text.log.append(update.tokens);
  }

  Json whole(const Choices& choices, const Usage& usage, JsonPieces& pieces) override {
    Json json = head(false);
    std::vector<size_t> shown;
    for (size_t prompt = 0; prompt < options_.echoes.size(); ++prompt) {
      const auto best = best_choices(prompt, choices);
      shown.insert(shown.end(), best.begin(), best.end());
    }
    const size_t n_shown = shown.size();
    json["choices"] = pieces.list(n_shown, [this, shown = std::move(shown), &choices, &pieces](size_t at) -> Json {
      const Text& text = texts_[shown[at]];
      return {{"index", at},
              {"text", echo_of(shown[at]) + text.text},
              {"logprobs",
               options_.logprobs ? text_logprobs(text.unscored, text.log, token_, text.offset, pieces) : Json()},
              {"finish_reason", choices[shown[at]]->finish_reason()}};
    });
    json["usage"] = usage_json(usage);
    if (extras_.timings) json["timings"] = timings_json(choices[0]->timings());
    return json;
  }

 private:
  Json head(bool) const override {
    return {{"id", id_},
            {"object", "text_completion"},
            {"created", created_},
            {"model", model_},
            {"system_fingerprint", system_fingerprint()}};
  }
  Json usage_json(const Usage& usage) const override {
    Json json = OpenAiWriter::usage_json(usage);
    json["prompt_tokens_details"] = {{"cached_tokens", usage.n_cached}};
    return json;
  }
  const std::string& echo_of(size_t choice_idx) const { return options_.echoes[choice_idx / options_.best_of]; }

  static Json choice_json(size_t choice_idx, const std::string& text, Json logprobs = Json(),
                          const char* finish_reason = nullptr) {
    return {{"index", choice_idx},
            {"text", text},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", finish_reason == nullptr ? Json() : Json(finish_reason)}};
  }

  // The n of best_of with the highest mean log-probability.
  std::vector<size_t> best_choices(size_t prompt, const Choices& choices) const {
    std::vector<size_t> order(options_.best_of);
    std::iota(order.begin(), order.end(), prompt * options_.best_of);
    if (options_.best_of > options_.n) {
      const auto mean = [&](size_t i) { return choices[i]->sum_logprob() / std::max(1u, choices[i]->n_tokens()); };
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return mean(a) > mean(b); });
    }
    order.resize(options_.n);
    return order;
  }

  TokenText token_;
  TextOptions options_;
  std::vector<Text> texts_;
};

constexpr uint32_t kDefaultMaxTokens = 16;  // the default of OpenAI's API
constexpr size_t kMaxInfills = 128;

// With a suffix, the prompt is the text before the gap.
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

// The beginning of a new text: the vocabulary's first token of a text, or the token that ends the previous text.
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

// A number here; 0 means only the chosen tokens.
Status read_text_logprobs(Fields& body, const char* name, TextReading& into) {
  const auto n_top = body.integer(name, 0, kMaxTopLogprobs);
  if (!n_top) return body.status();
  into.logprobs = true;
  into.generation.request.n_logprobs = static_cast<uint32_t>(*n_top);
  return {};
}

Status read_best_of(Fields& body, const char* name, TextReading& into) {
  const uint32_t n = into.generation.n;
  const auto best_of = body.integer(name, n, 128);
  if (!best_of) return body.status();
  if (into.generation.stream && *best_of > n) return body.wrong(name, "cannot be streamed");
  into.best_of = static_cast<uint32_t>(*best_of);
  return {};
}

constexpr Field<TextReading> kTextFields[] = {
    {"model", apart},
    {"logprobs", read_text_logprobs},
    {"best_of", read_best_of},
    {"suffix", take_string<&TextReading::suffix>},
    {"echo", take_flag<&TextReading::echo>},
    {"prompt", apart},
};

Result<Prepared> read_completion(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  TextReading asked(*model, context);
  RZ_CHECK_OK(read_generation_fields(body, asked));
  RZ_CHECK_OK(read_fields(kTextFields, body, asked));
  RZ_CHECK_OK(asked.finish_generation());
  GenerationFields& generation = asked.generation;
  Request& request = generation.request;
  TextOptions options;
  options.n = generation.n;
  options.best_of = std::max(asked.best_of, generation.n);
  options.logprobs = asked.logprobs;
  options.include_usage = generation.include_usage;
  request.prompt_logprobs = asked.echo && asked.logprobs;
  // The best are those with the highest log-probability.
  request.logprobs = asked.logprobs || options.best_of > options.n;
  if (!generation.has_limit) request.max_tokens = kDefaultMaxTokens;
  RZ_TRY(auto prompts, read_prompts(body, asked.suffix, *model, context));
  if (prompts.size() * options.best_of > kMaxAnswers) {
    return invalid_argument(fmt::format("n: {} prompts with {} answers each are more than {} answers", prompts.size(),
                                        options.best_of, kMaxAnswers),
                            "n");
  }
  RZ_CHECK_OK(constrain_text(body.json(), generation, *model));
  RZ_CHECK_OK(read_answer_extras(body, options.extras));

  const text::Tokenizer& tokenizer = model->tokenizer();
  CompletionPlan plan = empty_plan(generation);
  plan.n_per_prompt = options.best_of;
  plan.prompt_field = "prompt";
  plan.tells_progress = options.extras.progress;
  const bool is_shown = asked.echo || context.log_prompts;
  for (auto& tokens : prompts) {
    const std::string prompt = is_shown ? tokenizer.decode(tokens) : "";
    if (context.log_prompts) plan.logged_prompt += prompt;
    options.n_prompt_tokens.push_back(tokens.size());
    options.echoes.push_back(asked.echo ? prompt : "");
    std::optional<std::string>& first_token = options.first_tokens.emplace_back();
    if (request.prompt_logprobs && !tokens.empty()) {
      first_token = tokenizer.token_bytes(tokens.front(), {.skip_special = false});
    }
    request.prompt = std::move(tokens);
    for (uint32_t i = 0; i < options.best_of; ++i) plan.requests.push_back(nth_request(request, i));
  }
  plan.writer = std::make_unique<TextWriter>(told_name(context, *model), token_text(tokenizer), std::move(options));
  return prepared(std::move(plan));
}

}  // namespace

const Protocol kCompletions{.read = read_completion,
                            .fields = fields_of<kTextFields, generation_fields, form_fields, extra_fields>,
                            .gives_text = true,
                            .tells_limits = true};

}  // namespace realizar::server
