#include "server/choice.h"

#include <utility>

namespace realizar::server {

using Kind = text::OutputEvent::Kind;

Choice::Choice(ServedModelPtr model, Request request, const ChoiceOptions& options)
    : model_(std::move(model)),
      stream_(std::make_shared<TokenStream>(std::move(request))),
      detokenizer_(model_->tokenizer(), options.stop, {},
                   options.format ? text::marker_tokens(*options.format, model_->tokenizer()) : std::vector<TokenId>{},
                   options.min_tokens),
      one_call_(options.one_call),
      in_reasoning_(options.starts_in_reasoning) {
  if (options.format) parser_.emplace(*options.format, options.tools, options.starts_in_reasoning);
  if (options.content_tokens_only) content_tokens_.emplace();
}

Choice::~Choice() {
  cancel();
}

Status Choice::submit(std::function<void()> on_ready) {
  stream_->on_ready = std::move(on_ready);
  return model_->thread->submit(stream_);
}

void Choice::cancel() {
  stream_->cancel();
  stream_->on_ready = {};
}

ChoiceNews Choice::take_news(const std::function<void(Sequence::Clock::time_point)>& on_token) {
  ChoiceNews news;
  if (has_ended_) return news;
  while (!stopped_by_text_) {
    const auto token = stream_->pop();
    if (!token) break;
    if (token->is_prompt) {
      news.prompt_tokens.push_back(info_of(*token));
      continue;
    }
    on_token(token->time);
    take_token(*token, news);
  }
  // What the engine made after the stop string is not part of the answer.
  while (stopped_by_text_ && stream_->pop()) {
  }
  if (const TokenStream::End* end = stream_->end()) take_end(*end, news);
  return news;
}

void Choice::take_token(const TokenStream::Token& token, ChoiceNews& news) {
  ++n_tokens_;
  if (in_reasoning_) ++n_reasoning_tokens_;
  if (token.logprob) {
    sum_logprob_ += *token.logprob;
    const size_t begin = detokenizer_.n_text_bytes();
    if (content_tokens_) {
      content_tokens_->add(info_of(token), begin);
    } else {
      held_infos_.push_back({info_of(token), begin});
    }
  }
  auto output = detokenizer_.push(token.id);
  take_text(std::move(output.text), news);
  release_infos(news);
  if (!output.stopped) return;
  stopped_by_text_ = true;
  stream_->cancel();
}

void Choice::take_text(std::string text, ChoiceNews& news) {
  if (text.empty()) return;
  std::vector<text::OutputEvent> events;
  if (parser_) {
    events = parser_->push(text);
  } else {
    events.push_back({Kind::kContent, 0, text});
  }
  find_content(text, events, news);
  add_events(std::move(events), news);
}

void Choice::find_content(std::string_view text, const std::vector<text::OutputEvent>& events, ChoiceNews& news) {
  if (!content_tokens_) return;
  for (TokenInfo& info : content_tokens_->take(text, events)) news.tokens.push_back(std::move(info));
}

void Choice::take_end(const TokenStream::End& end, ChoiceNews& news) {
  end_ = end;
  if (stopped_by_text_) end_.reason = FinishReason::kStop;
  if (!stopped_by_text_) {
    auto rest = detokenizer_.finish();
    stopped_by_text_ = rest.stopped;
    take_text(std::move(rest.text), news);
    release_infos(news);
  }
  if (parser_) {
    auto events = parser_->finish();
    // A call that was cut has no end.
    if (is_cut()) std::erase_if(events, [](const auto& event) { return event.kind == Kind::kToolCallEnd; });
    find_content({}, events, news);
    add_events(std::move(events), news);
  }
  has_ended_ = true;
  news.ended = true;
}

void Choice::add_events(std::vector<text::OutputEvent> events, ChoiceNews& news) {
  for (text::OutputEvent& event : events) {
    if (one_call_ && stopped_by_text_) return;
    if (one_call_ && event.kind == Kind::kToolCallEnd) {
      stopped_by_text_ = true;
      stream_->cancel();
    }
    in_reasoning_ = event.kind == Kind::kReasoning;
    has_calls_ = has_calls_ || event.kind == Kind::kToolCallBegin;
    const bool joins = !news.events.empty() && news.events.back().kind == event.kind &&
                       news.events.back().call_idx == event.call_idx && event.kind != Kind::kToolCallBegin &&
                       event.kind != Kind::kToolCallEnd;
    if (joins) {
      news.events.back().text += event.text;
    } else {
      news.events.push_back(std::move(event));
    }
  }
}

const char* Choice::finish_reason() const {
  if (is_cut()) return "length";
  return has_calls_ ? "tool_calls" : "stop";
}

bool Choice::is_cut() const {
  const bool at_limit = end_.reason == FinishReason::kLength || end_.reason == FinishReason::kContext;
  return at_limit && !stopped_by_text_;
}

const char* Choice::end_label() const {
  if (end_.reason == FinishReason::kCancelled) return "abort";
  if (end_.reason == FinishReason::kDeadline) return "timeout";
  if (end_.reason == FinishReason::kError) return "error";
  return finish_reason();
}

// A token is part of the answer once some of its text is; of a stop string, none ever is.
void Choice::release_infos(ChoiceNews& news) {
  const auto is_certain = [&](const HeldInfo& held) {
    return held.begin < detokenizer_.n_given_bytes() || !detokenizer_.holds_back();
  };
  for (; !held_infos_.empty() && is_certain(held_infos_.front()); held_infos_.pop_front()) {
    news.tokens.push_back(std::move(held_infos_.front().info));
  }
}

TokenInfo Choice::info_of(const TokenStream::Token& token) const {
  const auto bytes_of = [&](TokenId id) { return model_->tokenizer().token_bytes(id, {.skip_special = false}); };
  TokenInfo info{token.id, bytes_of(token.id), *token.logprob, {}};
  for (const TokenLogprob& top : token.top) info.top.push_back({top.id, bytes_of(top.id), top.logprob});
  return info;
}

}  // namespace realizar::server
