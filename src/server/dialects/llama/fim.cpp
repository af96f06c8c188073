// POST /v1/fim/completions (https://docs.mistral.ai/api/endpoint/fim): what belongs between a prompt and a suffix, in
// answers that look like a chat's.
#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"
#include "server/call/adapter_fields.h"
#include "server/call/chat_prompt.h"
#include "server/call/protocol.h"
#include "server/call/request_context.h"
#include "server/call/request_fields.h"
#include "server/http/sse.h"
#include "server/models/answer_form.h"
#include "server/models/infill.h"

namespace realizar::server {
namespace {

std::string text_of_news(const ChoiceNews& news) {
  std::string text;
  for (const text::OutputEvent& event : news.events) text += event.text;
  return text;
}

Json fim_usage(const Usage& usage) {
  return {{"prompt_tokens", usage.n_prompt},
          {"completion_tokens", usage.n_completion},
          {"total_tokens", usage.n_prompt + usage.n_completion}};
}

class FimSpeller final : public Speller {
 public:
  explicit FimSpeller(std::string model) : id_(random_id("cmpl-")), model_(std::move(model)), created_(unix_now_s()) {}

  std::string stream_news(size_t, const ChoiceNews& news) override {
    const std::string text = text_of_news(news);
    return text.empty() ? std::string() : sse(chunk({{"content", text}}, nullptr));
  }

  // The last event has the usage as well, which is known at the stream's end.
  std::string stream_choice_end(size_t, const Choice& choice) override {
    finish_reason_ = choice.finish_reason();
    return {};
  }

  std::string stream_end(const Usage& usage, const Json* trace) override {
    Json last = chunk({{"content", ""}}, finish_reason_);
    last["usage"] = fim_usage(usage);
    if (trace != nullptr) last["trace"] = *trace;
    return sse(last);
  }

  void collect(size_t, ChoiceNews news) override { text_ += text_of_news(news); }

  Json whole(const std::vector<std::unique_ptr<Choice>>& choices, const Usage& usage, JsonPieces&) override {
    Json json = head("chat.completion");
    Json message{{"role", "assistant"}, {"content", std::move(text_)}, {"tool_calls", nullptr}, {"prefix", false}};
    json["choices"] = Json::array(
        {{{"index", 0}, {"message", std::move(message)}, {"finish_reason", choices.front()->finish_reason()}}});
    json["usage"] = fim_usage(usage);
    return json;
  }

 private:
  Json head(const char* object) const {
    return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}};
  }
  Json chunk(Json delta, const char* finish_reason) const {
    Json json = head("chat.completion.chunk");
    json["choices"] = Json::array({{{"index", 0},
                                    {"delta", std::move(delta)},
                                    {"finish_reason", finish_reason == nullptr ? Json() : Json(finish_reason)}}});
    return json;
  }

  std::string id_, model_, text_;
  int64_t created_;
  const char* finish_reason_ = nullptr;
};

// Without a suffix the answer goes on after the prompt.
Result<std::vector<TokenId>> read_gap(Fields& body, const ServedModel& model, const RequestContext& context) {
  const auto before = body.text("prompt");
  const std::string after = body.text("suffix").value_or("");
  if (!before) body.fail("prompt", "expected a string");
  if (!body.status().ok()) return body.status().error();
  RZ_CHECK_OK(check_text_length({*before, after}, "prompt", model));
  auto tokens = after.empty() ? std::optional(model.tokenizer().encode(*before))
                              : infill_prompt(model.tokenizer(), *before, after);
  if (!tokens) return invalid_argument("suffix: this model cannot infill", "suffix");
  RZ_CHECK_OK(check_prompt_length(tokens->size(), "prompt", model, context));
  return std::move(*tokens);
}

Status read_random_seed(Fields& body, const char* name, GenerationReading& into) {
  if (const auto seed = body.seed(name)) into.generation.request.sampling.seed = *seed;
  return body.status();
}

constexpr Field<GenerationReading> kFimFields[] = {
    {"model", apart}, {"prompt", apart}, {"suffix", apart}, {"random_seed", read_random_seed}};

KnownFields fim_fields() {
  return known_in(kFimFields, generation_fields(), form_fields());
}

Result<Prepared> read_fim(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  GenerationReading asked(*model, context);
  RZ_CHECK_OK(read_generation_fields(body, asked));
  RZ_CHECK_OK(read_fields(kFimFields, body, asked));
  RZ_CHECK_OK(asked.finish_generation());
  GenerationFields& generation = asked.generation;
  if (generation.n > 1) body.fail("n", "expected 1");
  RZ_TRY(auto tokens, read_gap(body, *model, context));
  RZ_CHECK_OK(constrain_text(body.json(), generation, *model));
  Request request = std::move(generation.request);
  request.prompt = std::move(tokens);
  CompletionPlan plan;
  plan.stream = generation.stream;
  plan.id_slot = generation.id_slot;
  plan.choice.stop = std::move(generation.stop);
  plan.choice.min_tokens = generation.rules.min_tokens;
  if (context.log_prompts) plan.logged_prompt = model->tokenizer().decode(request.prompt);
  plan.requests.push_back(std::move(request));
  plan.speller = std::make_unique<FimSpeller>(told_name(context, *model));
  return prepared(std::move(plan));
}

}  // namespace

const Protocol kFim{.read = read_fim, .fields = fim_fields, .gives_text = true};

}  // namespace realizar::server
