#include "text/answer.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace realizar::text {

using Kind = OutputEvent::Kind;

void ContentTokens::add(uint32_t idx, size_t begin) {
  waiting_.push_back({idx, begin});
}

std::vector<uint32_t> ContentTokens::take(std::string_view text, const std::vector<OutputEvent>& events) {
  text_ += text;
  std::vector<uint32_t> content;
  const std::vector<Span> spans = spans_of(events);
  for (const Span& span : spans) release(span, content);
  if (!spans.empty()) {
    text_.erase(0, spans.back().end - n_before_);
    n_before_ = spans.back().end;
  }
  return content;
}

// Reasoning and content appear in events in the order of the text, and as soon as they are certain: marks and calls
// precede them, and at most the beginning of a mark follows. Therefore each is searched from the end.
std::vector<ContentTokens::Span> ContentTokens::spans_of(const std::vector<OutputEvent>& events) const {
  std::vector<Span> spans;
  size_t end = text_.size();
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if ((event->kind != Kind::kContent && event->kind != Kind::kReasoning) || event->text.empty()) continue;
    const size_t n_bytes = event->text.size();
    const size_t found = n_bytes <= end ? text_.rfind(event->text, end - n_bytes) : std::string::npos;
    // Joined from pieces between which a mark was dropped: the beginning is unknown.
    const Span span = found == std::string::npos ? Span{0, end, false} : Span{found, found + n_bytes, false};
    spans.push_back({n_before_ + span.begin, n_before_ + span.end, event->kind == Kind::kContent});
    end = span.begin;
  }
  std::reverse(spans.begin(), spans.end());
  return spans;
}

void ContentTokens::release(const Span& span, std::vector<uint32_t>& content) {
  for (; !waiting_.empty() && waiting_.front().begin < span.end; waiting_.pop_front()) {
    // Content may follow the reasoning in the same token.
    if (!span.is_content && end_of_first() > span.end) return;
    if (span.is_content && end_of_first() > span.begin) content.push_back(waiting_.front().idx);
  }
}

// Tokens that begin at the same position are parts of one character.
size_t ContentTokens::end_of_first() const {
  const auto next = std::find_if(waiting_.begin(), waiting_.end(),
                                 [&](const Waiting& token) { return token.begin != waiting_.front().begin; });
  return next == waiting_.end() ? std::numeric_limits<size_t>::max() : next->begin;
}

void detect_parts(AnswerOptions& options, const Tokenizer& tokenizer, const OutputFormat& model_format,
                  std::span<const TokenId> prompt) {
  OutputFormat format = model_format;
  if (options.tools.empty()) drop_tools(format);
  constexpr size_t kMaxMarkTokens = 32;
  const auto end = prompt.last(std::min(prompt.size(), kMaxMarkTokens));
  options.starts_in_reasoning = prompt_opens_reasoning(format, tokenizer.decode(end, {.skip_special = false}));
  options.format = std::move(format);
}

Answer::Answer(const Tokenizer& tokenizer, const AnswerOptions& options)
    : detokenizer_(tokenizer, options.stop, {.skip_special = options.skip_special},
                   options.format ? marker_tokens(*options.format, tokenizer) : std::vector<TokenId>{},
                   options.min_tokens),
      one_call_(options.one_call),
      in_reasoning_(options.starts_in_reasoning),
      content_begin_(options.content_begin),
      tells_tokens_(options.tells_tokens) {
  if (options.format) parser_.emplace(*options.format, options.tools, options.starts_in_reasoning);
  if (options.content_tokens_only) content_tokens_.emplace();
}

AnswerPart Answer::push(TokenId id) {
  AnswerPart part;
  if (tells_tokens_ && content_tokens_) content_tokens_->add(n_tokens_, detokenizer_.n_text_bytes());
  if (tells_tokens_ && !content_tokens_) held_tokens_.push_back({n_tokens_, detokenizer_.n_text_bytes()});
  ++n_tokens_;
  if (in_reasoning_) ++n_reasoning_tokens_;
  auto output = detokenizer_.push(id);
  take_text(std::move(output.text), part);
  release_tokens(part);
  is_stopped_ = is_stopped_ || output.stopped;
  return part;
}

AnswerPart Answer::finish(FinishReason reason) {
  AnswerPart part;
  reason_ = reason;
  if (!is_stopped_) {
    auto rest = detokenizer_.finish(is_cut());
    is_stopped_ = rest.stopped;
    take_text(std::move(rest.text), part);
    release_tokens(part);
  }
  if (is_stopped_) reason_ = FinishReason::kStop;
  if (!parser_) return part;
  take_events({}, parser_->finish(is_cut()), part);
  return part;
}

bool Answer::is_cut() const {
  return reason_ == FinishReason::kLength || reason_ == FinishReason::kContext;
}

uint32_t Answer::first_open_token() const {
  if (content_tokens_) return content_tokens_->first_waiting().value_or(n_tokens_);
  return held_tokens_.empty() ? n_tokens_ : held_tokens_.front().idx;
}

void Answer::take_text(std::string text, AnswerPart& part) {
  if (text.empty()) return;
  std::vector<OutputEvent> events;
  if (parser_) {
    events = parser_->push(text);
  } else {
    events.push_back({Kind::kContent, 0, text});
  }
  take_events(text, std::move(events), part);
}

void Answer::take_events(std::string_view text, std::vector<OutputEvent> events, AnswerPart& part) {
  if (content_tokens_) {
    for (const uint32_t idx : content_tokens_->take(text, events)) part.tokens.push_back(idx);
  }
  for (OutputEvent& event : events) {
    if (one_call_ && is_stopped_) return;
    if (event.kind == Kind::kContent) event.text.insert(0, std::exchange(content_begin_, {}));
    is_stopped_ = is_stopped_ || (one_call_ && event.kind == Kind::kToolCallEnd);
    in_reasoning_ = event.kind == Kind::kReasoning;
    has_calls_ = has_calls_ || event.kind == Kind::kToolCallBegin;
    part.events.push_back(std::move(event));
  }
}

// A token belongs to the answer once some of its text does; tokens of a stop string never do.
void Answer::release_tokens(AnswerPart& part) {
  const auto is_certain = [this](const HeldToken& held) {
    return held.begin < detokenizer_.n_given_bytes() || !detokenizer_.holds_back();
  };
  for (; !held_tokens_.empty() && is_certain(held_tokens_.front()); held_tokens_.pop_front()) {
    part.tokens.push_back(held_tokens_.front().idx);
  }
}

}  // namespace realizar::text
