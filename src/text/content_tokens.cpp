#include "text/content_tokens.h"

#include <algorithm>
#include <limits>

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

}  // namespace realizar::text
