// POST /v1/fim/completions (https://docs.mistral.ai/api/endpoint/fim): the text between a prompt and a suffix, in
// answers that look like a chat's.
#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/protocol.h"
#include "server/call/request_context.h"
#include "server/dialects/openai/openai_writer.h"
#include "server/models/answer_form.h"
#include "server/models/infill.h"

namespace realizar::server {
namespace {

class FimWriter final : public OpenAiWriter {
 public:
  explicit FimWriter(std::string model) : OpenAiWriter("cmpl-", std::move(model), false, {}) {}

  std::string stream_update(size_t, const ChoiceUpdate& update) override {
    const std::string text = text_of(update);
    return text.empty() ? std::string() : sse(chunk(text, nullptr));
  }

  // The last event also has the usage, which is known at the stream's end.
  std::string stream_choice_end(size_t, const Choice& choice) override {
    finish_reason_ = choice.finish_reason();
    return {};
  }

  std::string stream_end(const Usage& usage, const Json* trace) override {
    Json last = chunk("", finish_reason_);
    last["usage"] = usage_json(usage);
    if (trace != nullptr) last["trace"] = *trace;
    return sse(last);
  }

  void collect(size_t, ChoiceUpdate update) override { text_ += text_of(update); }

  Json whole(const Choices& choices, const Usage& usage, JsonPieces&) override {
    Json json = head(false);
    Json message{{"role", "assistant"}, {"content", std::move(text_)}, {"tool_calls", nullptr}, {"prefix", false}};
    json["choices"] = Json::array(
        {{{"index", 0}, {"message", std::move(message)}, {"finish_reason", choices.front()->finish_reason()}}});
    json["usage"] = usage_json(usage);
    return json;
  }

 private:
  Json chunk(const std::string& text, const char* finish_reason) const {
    return chunk_json({{"index", 0},
                       {"delta", {{"content", text}}},
                       {"finish_reason", finish_reason == nullptr ? Json() : Json(finish_reason)}});
  }

  std::string text_;
  const char* finish_reason_ = nullptr;
};

// Without a suffix the answer continues the prompt.
Result<std::vector<TokenId>> read_gap(Fields& body, const ServedModel& model, const RequestContext& context) {
  const auto before = body.text("prompt");
  const std::string after = body.text("suffix").value_or("");
  if (!before) body.fail("prompt", "expected a string");
  if (!body.status().ok()) return body.status().error();
  RZ_CHECK_OK(check_text_length({*before, after}, "prompt", model));
  auto tokens = gap_prompt(model.tokenizer(), *before, after);
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

Result<Prepared> read_fim(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  GenerationReading asked(*model, context);
  RZ_CHECK_OK(read_generation_fields(body, asked));
  RZ_CHECK_OK(read_fields(kFimFields, body, asked));
  RZ_CHECK_OK(asked.finish_generation());
  GenerationFields& generation = asked.generation;
  if (generation.n > 1) body.fail("n", "expected 1");
  ChatPrompt prompt;
  RZ_TRY(prompt.tokens, read_gap(body, *model, context));
  RZ_TRY(const AnswerForm form, read_answer_form(body.json()));
  RZ_TRY(prompt.constraint, constraint_of(form, *model));
  if (context.log_prompts) prompt.text = model->tokenizer().decode(prompt.tokens);
  CompletionPlan plan = plan_of(std::move(generation), std::move(prompt), *model, context);
  plan.writer = std::make_unique<FimWriter>(told_name(context, *model));
  return prepared(std::move(plan));
}

}  // namespace

const Protocol kFim{
    .read = read_fim, .fields = fields_of<kFimFields, generation_fields, form_fields>, .gives_text = true};

}  // namespace realizar::server
