#include "api/answer_text.h"

#include <algorithm>
#include <utility>

namespace realizar {
namespace {

std::vector<AnswerText::Piece> pieces_of(std::vector<text::OutputEvent> events) {
  std::vector<AnswerText::Piece> pieces;
  for (text::OutputEvent& event : events) {
    pieces.push_back({std::move(event.text), event.kind == text::OutputEvent::Kind::kReasoning});
  }
  return pieces;
}

}  // namespace

AnswerText::AnswerText(const text::Tokenizer& tokenizer, std::string_view template_source,
                       std::span<const TokenId> prompt, const TextOptions& options)
    : AnswerText(tokenizer, find_split(tokenizer, template_source, prompt, options), options) {}

AnswerText::AnswerText(const text::Tokenizer& tokenizer, const std::optional<Split>& split, const TextOptions& options)
    : detokenizer_(tokenizer, options.stop, {options.skip_special},
                   split ? text::marker_tokens(split->format, tokenizer) : std::vector<TokenId>{}) {
  if (split) parser_.emplace(split->format, std::vector<text::ToolSpec>{}, split->starts_in_reasoning);
}

std::optional<AnswerText::Split> AnswerText::find_split(const text::Tokenizer& tokenizer,
                                                        std::string_view template_source,
                                                        std::span<const TokenId> prompt, const TextOptions& options) {
  if (!options.split_reasoning) return std::nullopt;
  text::OutputFormat format = text::detect_output_format(template_source);
  // Calls stay text; channels are more than calls, since they say what is reasoning.
  if (format.tools != text::ToolFormat::kGptOss) format.tools = text::ToolFormat::kNone;
  constexpr size_t kMaxMarkTokens = 32;
  const auto end = prompt.last(std::min(prompt.size(), kMaxMarkTokens));
  const bool in_reasoning = text::prompt_opens_reasoning(format, tokenizer.decode(end, {.skip_special = false}));
  return Split{std::move(format), in_reasoning};
}

std::vector<AnswerText::Piece> AnswerText::push(TokenId id) {
  auto output = detokenizer_.push(id);
  is_stopped_ = output.stopped;
  return split(std::move(output.text));
}

std::vector<AnswerText::Piece> AnswerText::finish() {
  std::vector<Piece> pieces;
  if (!is_stopped_) {
    auto rest = detokenizer_.finish();
    is_stopped_ = rest.stopped;
    pieces = split(std::move(rest.text));
  }
  if (!parser_) return pieces;
  for (Piece& piece : pieces_of(parser_->finish())) pieces.push_back(std::move(piece));
  return pieces;
}

std::vector<AnswerText::Piece> AnswerText::split(std::string text) {
  if (text.empty()) return {};
  if (parser_) return pieces_of(parser_->push(text));
  std::vector<Piece> pieces;
  pieces.push_back({std::move(text), false});
  return pieces;
}

}  // namespace realizar
