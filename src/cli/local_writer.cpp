#include <utility>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/writer.h"
#include "realizar/constraint.h"

namespace realizar::cli {
namespace {

using Json = nlohmann::ordered_json;

class LocalWriter final : public Writer {
 public:
  explicit LocalWriter(LanguageModel model) : model_(std::move(model)) {}

  const ModelInfo& info() const override { return model_.info(); }
  Result<SamplingParams> sampling(const SamplingFlags& flags) override { return flags.over(model_); }
  const std::vector<std::string>& default_stop() const override { return model_.default_stop(); }
  Status check_reasoning(const ReasoningOptions& reasoning) override {
    RZ_TRY([[maybe_unused]] const ReasoningPlan plan, plan_reasoning(model_, reasoning));
    return {};
  }

  Status check_knows_tools(const Json& tools) override {
    if (tools.is_null()) return {};
    const Json message{{"role", "user"}, {"content", "?"}};
    Json variables{{"messages", Json::array({message})}};
    RZ_TRY(const auto without, model_.apply_chat_template(json_text(variables)));
    variables["tools"] = tools;
    RZ_TRY(const auto with, model_.apply_chat_template(json_text(variables)));
    if (with != without) return {};
    return unsupported("the chat template of " + printable(info().path) +
                           " does not show tools to the model, so it cannot call those of MCP servers",
                       "mcp");
  }

  Result<Prompt> chat_prompt(Json variables, const ReasoningOptions& reasoning) override {
    Prompt prompt;
    RZ_TRY(prompt.tokens, chat_tokens(model_, variables, reasoning));
    prompt.n_tokens = prompt.tokens.size();
    prompt.variables = std::move(variables);
    return prompt;
  }

  Result<Prompt> raw_prompt(const std::string& text) override {
    Prompt prompt;
    prompt.text = text;
    RZ_TRY(prompt.tokens, model_.tokenize(text, true, true));
    prompt.n_tokens = prompt.tokens.size();
    return prompt;
  }

  Result<TextGeneration> write(const Prompt& prompt, const AnswerOptions& options,
                               const TextCallback& on_text) override {
    Request request;
    request.prompt = prompt.tokens;
    request.sampling = options.sampling;
    request.sampling.seed = seed_or_drawn(options.seed);
    request.max_tokens = options.max_tokens;
    request.ignore_eos = options.ignore_eos;
    request.n_logprobs = options.n_logprobs;
    request.logprobs = options.n_logprobs > 0;
    if (!options.required_tools_json.empty()) {
      RZ_TRY(request.constraint, tool_calls_constraint(model_, options.required_tools_json,
                                                       ToolCallOptions{.parallel = false, .prompt = prompt.tokens}));
    }
    RZ_CHECK_OK(constrain(model_, options, request));
    return model_.generate_text(
        request,
        TextOptions{.stop = options.stop, .split_reasoning = options.split_reasoning, .tools_json = options.tools_json},
        on_text);
  }

  void cancel() noexcept override { model_.cancel(); }
  LanguageModel* local() override { return &model_; }

 private:
  LanguageModel model_;
};

}  // namespace

std::unique_ptr<Writer> local_writer(LanguageModel model) {
  return std::make_unique<LocalWriter>(std::move(model));
}

}  // namespace realizar::cli
