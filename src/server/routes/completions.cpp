// POST /v1/completions (https://platform.openai.com/docs/api-reference/completions).
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "server/chat_prompt.h"
#include "server/context.h"
#include "server/infill.h"
#include "server/logprobs.h"
#include "server/request_fields.h"
#include "server/routes.h"

namespace realizar::server {
namespace {

constexpr uint32_t kDefaultMaxTokens = 16;  // as OpenAI's API has it
constexpr size_t kMaxAnswers = 1024;        // of one request: each holds some 10 to 50 KB until the last is there

Json empty_logprobs() {
  return {{"tokens", Json::array()},
          {"token_logprobs", Json::array()},
          {"top_logprobs", Json::array()},
          {"text_offset", Json::array()}};
}

struct Text {
  std::string text;
  Json logprobs = empty_logprobs();
  size_t offset = 0;
};

// What the route keeps of a request beside its generation.
struct TextOptions {
  std::vector<std::string> echoes;  // the text put before each prompt's answers; empty strings without echo
  std::vector<std::string>
      first_tokens;             // of each prompt, where its tokens are scored; nothing comes before to score it by
  uint32_t n = 1, best_of = 1;  // answers shown and made for each prompt
  bool logprobs = false;
  bool include_usage = false;
};

class TextDialect final : public Dialect {
 public:
  TextDialect(std::string model, TextOptions options)
      : id_(random_id("cmpl-")),
        model_(std::move(model)),
        created_(unix_now_s()),
        options_(std::move(options)),
        texts_(options_.echoes.size() * options_.best_of) {
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (options_.first_tokens.empty()) {
        texts_[i].offset = n_characters(echo_of(i));
      } else {
        append_unscored(options_.first_tokens[i / options_.best_of], texts_[i].offset, texts_[i].logprobs);
      }
    }
  }

  std::string stream_begin() override {
    std::string bytes;
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (!echo_of(i).empty()) bytes += chunk(i, echo_of(i), Json(), nullptr);
    }
    return bytes;
  }

  std::string stream_news(size_t choice_idx, const ChoiceNews& news) override {
    std::string text;
    for (const text::OutputEvent& event : news.events) text += event.text;
    Json logprobs;
    if (options_.logprobs) {
      logprobs = std::exchange(texts_[choice_idx].logprobs, empty_logprobs());
      append_text_logprobs(news.prompt_tokens, texts_[choice_idx].offset, logprobs);
      append_text_logprobs(news.tokens, texts_[choice_idx].offset, logprobs);
    }
    return chunk(choice_idx, text, std::move(logprobs), nullptr);
  }

  std::string stream_choice_end(size_t choice_idx, const Choice& choice) override {
    return chunk(choice_idx, "", Json(), choice.finish_reason());
  }

  std::string stream_end(const Usage& usage, const Json* trace) override {
    std::string bytes;
    if (options_.include_usage || trace != nullptr) {
      Json last = head();
      last["choices"] = Json::array();
      if (options_.include_usage) last["usage"] = usage_json(usage);
      if (trace != nullptr) last["trace"] = *trace;
      bytes = sse(last);
    }
    return bytes + "data: [DONE]\n\n";
  }

  void collect(size_t choice_idx, ChoiceNews news) override {
    Text& text = texts_[choice_idx];
    for (const text::OutputEvent& event : news.events) text.text += event.text;
    append_text_logprobs(news.prompt_tokens, text.offset, text.logprobs);
    append_text_logprobs(news.tokens, text.offset, text.logprobs);
  }

  Json whole(const std::vector<std::unique_ptr<Choice>>& choices, const Usage& usage) override {
    Json json = head();
    json["choices"] = Json::array();
    for (size_t prompt = 0; prompt < options_.echoes.size(); ++prompt) {
      for (const size_t i : best_choices(prompt, choices)) {
        json["choices"].push_back({{"index", json["choices"].size()},
                                   {"text", echo_of(i) + texts_[i].text},
                                   {"logprobs", options_.logprobs ? std::move(texts_[i].logprobs) : Json()},
                                   {"finish_reason", choices[i]->finish_reason()}});
      }
    }
    json["usage"] = usage_json(usage);
    return json;
  }

 private:
  Json head() const {
    return {{"id", id_},
            {"object", "text_completion"},
            {"created", created_},
            {"model", model_},
            {"system_fingerprint", system_fingerprint()}};
  }
  static Json usage_json(const Usage& usage) {
    return {{"prompt_tokens", usage.n_prompt},
            {"completion_tokens", usage.n_completion},
            {"total_tokens", usage.n_prompt + usage.n_completion},
            {"prompt_tokens_details", {{"cached_tokens", usage.n_cached}}}};
  }
  const std::string& echo_of(size_t choice_idx) const { return options_.echoes[choice_idx / options_.best_of]; }

  std::string chunk(size_t choice_idx, const std::string& text, Json logprobs, const char* finish_reason) const {
    Json json = head();
    json["choices"] = Json::array({{{"index", choice_idx},
                                    {"text", text},
                                    {"logprobs", std::move(logprobs)},
                                    {"finish_reason", finish_reason == nullptr ? Json() : Json(finish_reason)}}});
    if (options_.include_usage) json["usage"] = nullptr;
    return sse(json);
  }

  // The n of best_of with the highest mean log-probability.
  std::vector<size_t> best_choices(size_t prompt, const std::vector<std::unique_ptr<Choice>>& choices) const {
    std::vector<size_t> order(options_.best_of);
    std::iota(order.begin(), order.end(), prompt * options_.best_of);
    if (options_.best_of > options_.n) {
      const auto mean = [&](size_t i) { return choices[i]->sum_logprob() / std::max(1u, choices[i]->n_tokens()); };
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return mean(a) > mean(b); });
    }
    order.resize(options_.n);
    return order;
  }

  std::string id_, model_;
  int64_t created_;
  TextOptions options_;
  std::vector<Text> texts_;
};

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

Result<std::vector<std::vector<TokenId>>> read_prompts(const Json& body, const ServedModel& model, const Call& call) {
  static const Json kNone;
  Fields fields(body);
  const Json* given = fields.any("prompt");
  const Json& prompt = given == nullptr ? kNone : *given;
  const Json* suffix = fields.any("suffix");
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
void read_text_logprobs(Fields& fields, Request& request) {
  const auto n_top = fields.integer("logprobs", 0, kMaxTopLogprobs);
  request.logprobs = n_top.has_value();
  request.n_logprobs = static_cast<uint32_t>(n_top.value_or(0));
}

// What of the body only this route knows; the request gets its part.
Result<TextOptions> read_text_options(const Json& body, GenerationFields& generation) {
  Fields fields(body);
  TextOptions options;
  read_text_logprobs(fields, generation.request);
  options.logprobs = generation.request.logprobs;
  options.include_usage = generation.include_usage;
  options.n = generation.n;
  options.best_of = static_cast<uint32_t>(fields.integer("best_of", generation.n, 128).value_or(generation.n));
  static_cast<void>(fields.text("suffix"));
  if (generation.stream && options.best_of > options.n) fields.fail("best_of", "cannot be streamed");
  if (!fields.status().ok()) return fields.status().error();
  // The best are those with the highest log-probability.
  if (options.best_of > options.n) generation.request.logprobs = true;
  if (!generation.has_limit) generation.request.max_tokens = kDefaultMaxTokens;
  return options;
}

}  // namespace

Result<Prepared> prepare_completion(const Json& body, const ServedModelPtr& model, Call& call) {
  RZ_TRY(GenerationFields generation, read_generation_fields(body, *model, call));
  RZ_TRY(TextOptions options, read_text_options(body, generation));
  Fields fields(body);
  const bool echo = fields.boolean("echo").value_or(false);
  if (!fields.status().ok()) return fields.status().error();
  generation.request.prompt_logprobs = echo && options.logprobs;
  RZ_TRY(auto prompts, read_prompts(body, *model, call));
  if (prompts.size() * options.best_of > kMaxAnswers) {
    return invalid_argument(fmt::format("n: {} prompts with {} answers each are more than {} answers", prompts.size(),
                                        options.best_of, kMaxAnswers),
                            "n");
  }
  std::shared_ptr<TokenConstraint> constraint;
  RZ_TRY(auto grammar, read_response_format(body, *model->grammars));
  if (grammar != nullptr) {
    constraint =
        make_constraint(std::move(grammar), model->tokenizer(), model->loaded->generation_config.end_tokens, {});
  }
  generation.request.constraint = with_rules(std::move(constraint), generation.rules, model->loaded->info.n_vocab);

  CompletionPlan plan;
  plan.n_per_prompt = options.best_of;
  plan.prompt_field = "prompt";
  plan.stream = generation.stream;
  plan.choice.stop = std::move(generation.stop);
  plan.choice.min_tokens = generation.rules.min_tokens;
  for (const auto& tokens : prompts) {
    const std::string text = model->tokenizer().decode(tokens);
    if (call.context.options.log_prompts) call.record.prompt += text;
    options.echoes.push_back(echo ? text : "");
    if (generation.request.prompt_logprobs && !tokens.empty()) {
      options.first_tokens.push_back(model->tokenizer().token_bytes(tokens.front(), {.skip_special = false}));
    }
    generation.request.prompt = tokens;
    for (uint32_t i = 0; i < options.best_of; ++i) plan.requests.push_back(nth_request(generation.request, i));
  }
  plan.dialect = std::make_unique<TextDialect>(model->id, std::move(options));
  return Prepared(std::move(plan));
}

}  // namespace realizar::server
