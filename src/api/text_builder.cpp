#include "api/text_builder.h"

#include <utility>

#include "base/try.h"

namespace realizar {

namespace {

text::AnswerOptions options_for(const TextPlan& plan, const text::Tokenizer& tokenizer,
                                const text::OutputFormat& format, std::span<const TokenId> prompt) {
  text::AnswerOptions options = plan.answer;
  if (plan.has_parts) text::detect_parts(options, tokenizer, format, prompt);
  return options;
}

}  // namespace

Result<TextPlan> plan_text(const TextOptions& options) {
  TextPlan plan{{.stop = options.stop, .skip_special = options.skip_special}, options.split_reasoning};
  if (options.tools_json.empty()) return plan;
  RZ_TRY(plan.answer.tools, text::read_tool_specs(options.tools_json));
  plan.has_parts = plan.has_parts || !plan.answer.tools.empty();
  return plan;
}

TextBuilder::TextBuilder(const text::Tokenizer& tokenizer, const text::OutputFormat& format,
                         std::span<const TokenId> prompt, const TextPlan& plan, const TextCallback& on_text)
    : answer_(tokenizer, options_for(plan, tokenizer, format, prompt)), on_text_(on_text) {}

bool TextBuilder::push(const TokenEvent& token) {
  if (token.is_prompt) return tell({"", &token});
  return tell(answer_.push(token.id).events, &token) && !answer_.is_stopped();
}

TextGeneration TextBuilder::finish(Generation generation) {
  // A caller that has cancelled the answer does not want the rest of it.
  const bool is_whole = answer_.is_stopped() || generation.finish_reason != FinishReason::kCancelled;
  if (is_whole && !is_refused_) {
    tell(answer_.finish(generation.finish_reason).events, nullptr);
    generation.finish_reason = answer_.reason();
  }
  if (is_refused_) generation.finish_reason = FinishReason::kCancelled;
  static_cast<Generation&>(result_) = std::move(generation);
  return std::move(result_);
}

bool TextBuilder::tell(const std::vector<text::OutputEvent>& events, const TokenEvent* token) {
  for (const auto& event : events) keep(event);
  if (events.empty()) return token == nullptr || tell({"", token});
  for (const auto& event : events) {
    if (!tell({event.text, token, event.kind, event.call_idx})) return false;
    token = nullptr;
  }
  return true;
}

bool TextBuilder::tell(const TextEvent& event) {
  if (on_text_ && !is_refused_) is_refused_ = !on_text_(event);
  return !is_refused_;
}

void TextBuilder::keep(const text::OutputEvent& event) {
  if (event.kind == TextKind::kReasoning) result_.reasoning += event.text;
  if (event.kind == TextKind::kContent) result_.text += event.text;
  if (event.kind == TextKind::kToolCallBegin) result_.calls.push_back({event.text, ""});
  const bool is_argument = event.kind == TextKind::kToolCallArguments && !result_.calls.empty();
  if (is_argument) result_.calls.back().arguments_json += event.text;
}

}  // namespace realizar
