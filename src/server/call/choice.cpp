#include "server/call/choice.h"

#include <algorithm>
#include <utility>

#include "server/call/answer_room.h"

namespace realizar::server {
namespace {

using Kind = text::OutputEvent::Kind;

// Unread tokens in a stream: the smaller of this number, and the number that fits in this many bytes.
constexpr uint32_t kMaxStreamedUnread = 4096, kMaxStreamedBytes = 1u << 20;

// Positions repeat after a shift, and draws are a function of (seed, position).
constexpr uint64_t kSeedStep = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

text::AnswerOptions telling_tokens(text::AnswerOptions options, bool tells_tokens) {
  options.tells_tokens = options.tells_tokens || tells_tokens;
  return options;
}

bool joins(const text::OutputEvent& last, const text::OutputEvent& next) {
  return last.kind == next.kind && last.call_idx == next.call_idx && next.kind != Kind::kToolCallBegin &&
         next.kind != Kind::kToolCallEnd;
}

// For one answer made by several requests: the prompt is the first one's.
GenerationStats sum_of(const GenerationStats& before, const GenerationStats& more, bool is_first) {
  if (is_first) return more;
  GenerationStats all = before;
  all.n_generated += more.n_generated;
  all.n_preemptions += more.n_preemptions;
  all.n_drafted += more.n_drafted;
  all.n_accepted += more.n_accepted;
  all.decode_ms += more.queue_ms + more.prefill_ms + more.decode_ms;
  return all;
}

}  // namespace

std::string LineWatch::take(std::string text) {
  has_new_line_ = has_new_line_ || text.find('\n') != std::string::npos;
  if (is_over_) return {};
  if (rules_.n_indent == 0) return text;
  std::string certain;
  for (const char c : text) {
    const bool waits = !indentation_.empty();
    if (waits && !is_blank(c)) {
      is_over_ = indentation_.size() <= rules_.n_indent;
      if (is_over_) return certain;
      certain += std::exchange(indentation_, {});
    }
    std::string& place = c == '\n' || (waits && is_blank(c)) ? indentation_ : certain;
    place += c;
  }
  return certain;
}

std::string LineWatch::finish() {
  return is_over_ ? std::string() : std::exchange(indentation_, {});
}

uint32_t first_limit(const ContextShift& shift, size_t n_prompt) {
  const uint32_t n_left = shift.n_ctx > n_prompt ? shift.n_ctx - static_cast<uint32_t>(n_prompt) : 1;
  return std::min(n_left, shift.max_tokens);
}

Request shifted_request(const Request& before, std::span<const TokenId> tokens, uint32_t n_generated,
                        const ContextShift& shift) {
  Request next = before;
  next.prompt.insert(next.prompt.end(), tokens.begin(), tokens.end());
  const size_t n_keep = std::min<size_t>({shift.n_keep, before.prompt.size(), shift.n_ctx / 2});
  const size_t n_most = n_keep + (shift.n_ctx - n_keep) / 2;  // tokens that stay
  if (next.prompt.size() > n_most) {
    const auto first = next.prompt.begin() + static_cast<std::ptrdiff_t>(n_keep);
    next.prompt.erase(first, first + static_cast<std::ptrdiff_t>(next.prompt.size() - n_most));
  }
  next.sampling.seed += kSeedStep;
  const uint32_t n_wanted = shift.max_tokens - std::min(shift.max_tokens, n_generated);
  next.max_tokens = std::min(n_wanted, first_limit({shift.n_ctx, 0, UINT32_MAX}, next.prompt.size()));
  return next;
}

Choice::Choice(ServedModelPtr model, Request request, text::AnswerOptions options, bool is_streamed,
               const LineRules& lines)
    : model_(std::move(model)),
      is_streamed_(is_streamed),
      stream_(make_stream(std::move(request))),
      first_stream_(stream_),
      answer_(model_->tokenizer(), telling_tokens(options, stream_->request().logprobs)),
      lines_(lines),
      tells_tokens_(options.tells_tokens || stream_->request().logprobs) {}

Choice::~Choice() {
  stream_->cancel();
  stream_->on_ready = {};
}

// Holds the whole answer: only the server's own thread reads it. Streamed tokens are read as they arrive.
std::shared_ptr<engine::TokenStream> Choice::make_stream(Request request) const {
  const uint32_t n_all = engine::capacity_for_all(request, model_->loaded->info.n_ctx);
  const uint64_t n_by_bytes = kMaxStreamedBytes / (kTokenBytes + request.n_logprobs * sizeof(TokenLogprob));
  const auto n_streamed = static_cast<uint32_t>(std::clamp<uint64_t>(n_by_bytes, 256, kMaxStreamedUnread));
  return std::make_shared<engine::TokenStream>(std::move(request), is_streamed_ ? std::min(n_all, n_streamed) : n_all);
}

Status Choice::submit(std::function<void()> on_ready) {
  stream_->on_ready = std::move(on_ready);
  submitted_at_ = std::chrono::steady_clock::now();
  return model_->thread->submit(stream_);
}

ChoiceUpdate Choice::take_update(const std::function<void(const TokenEvent&)>& on_token) {
  ChoiceUpdate update;
  if (has_ended_) return update;
  if (stream_->tells_progress) take_progress(update);
  while (!is_over()) {
    const auto token = stream_->pop();
    if (!token) break;
    if (token->is_prompt) {
      update.prompt_tokens.add(token->id, token->logprob.value_or(0), token->top);
      continue;
    }
    on_token(*token);
    take_token(*token, update);
  }
  // Tokens that the engine generated after the end of the text are not part of the answer.
  while (is_over() && stream_->pop()) {
  }
  if (const engine::TokenStream::End* end = stream_->end()) {
    if (goes_on(*end)) {
      go_on(*end, update);
    } else {
      take_end(*end, update);
    }
  }
  update.timings = timings();
  return update;
}

// The context is full, but neither the answer nor its token limit is at its end.
bool Choice::goes_on(const engine::TokenStream::End& end) const {
  const bool is_full = end.finish_reason == FinishReason::kLength || end.finish_reason == FinishReason::kContext;
  const bool has_grown = tokens_.size() > first_token_;
  return shift_.is_on() && is_full && has_grown && !is_over() && tokens_.size() < shift_.max_tokens;
}

void Choice::go_on(const engine::TokenStream::End& end, ChoiceUpdate& update) {
  const auto n_before = static_cast<uint32_t>(tokens_.size());
  Request next = shifted_request(stream_->request(), std::span(tokens_).subspan(first_token_), n_before, shift_);
  if (const auto timeout_ms = request().timeout_ms) {
    const auto passed = std::chrono::steady_clock::now() - submitted_at_;
    const auto passed_ms = std::chrono::duration_cast<std::chrono::milliseconds>(passed).count();
    next.timeout_ms = static_cast<uint32_t>(std::max<int64_t>(int64_t{*timeout_ms} - passed_ms, 1));
  }
  stream_->free_tokens();
  stats_before_ = sum_of(stats_before_, end.stats, first_token_ == 0);
  first_token_ = n_before;
  auto stream = make_stream(std::move(next));
  stream->on_ready = std::exchange(stream_->on_ready, {});
  stream_ = std::move(stream);
  if (const Status status = model_->thread->submit(stream_); !status.ok()) {
    engine::TokenStream::End failed;
    failed.finish_reason = FinishReason::kError;
    failed.error = status.error();
    take_end(failed, update);
  }
}

// The number of cached tokens is always reported, even if the engine was faster than the reader.
void Choice::take_progress(ChoiceUpdate& update) {
  const auto progress = stream_->progress();
  if (!progress || n_told_ == progress->n_computed) return;
  if (!n_told_ && progress->n_computed > progress->n_cached) {
    update.progress.push_back({progress->n_cached, progress->n_cached, 0});
  }
  update.progress.push_back(*progress);
  n_told_ = progress->n_computed;
}

void Choice::take_token(const TokenEvent& token, ChoiceUpdate& update) {
  if (token.index > 0) decode_ms_ += token.ms;
  sum_logprob_ += token.logprob.value_or(0);
  if (tells_tokens_) {
    open_tokens_.push_back({token.id, token.logprob.value_or(0), {token.top.begin(), token.top.end()}});
  }
  tokens_.push_back(token.id);
  add(answer_.push(token.id), update);
  lines_.note_time(decode_ms_);
  if (is_over()) stream_->cancel();
}

void Choice::take_end(const engine::TokenStream::End& end, ChoiceUpdate& update) {
  end_ = end;
  stream_->free_tokens();
  if (stream_ != first_stream_) end_.stats = sum_of(stats_before_, end.stats, false);
  if (lines_.is_over()) end_.finish_reason = FinishReason::kLength;
  if (answer_.is_stopped()) end_.finish_reason = FinishReason::kStop;
  add(answer_.finish(end_.finish_reason), update);
  if (std::string rest = lines_.finish(); !rest.empty()) add_event({Kind::kContent, 0, std::move(rest)}, update);
  has_ended_ = true;
  update.ended = true;
}

void Choice::add(text::AnswerPart part, ChoiceUpdate& update) {
  for (text::OutputEvent& event : part.events) {
    if (event.kind == Kind::kContent) event.text = lines_.take(std::move(event.text));
    if (event.kind != Kind::kContent || !event.text.empty()) add_event(std::move(event), update);
  }
  for (const uint32_t idx : part.tokens) {
    const OpenToken& token = open_tokens_[idx - first_open_token_];
    update.tokens.add(token.id, token.logprob, token.top);
  }
  for (; first_open_token_ < answer_.first_open_token() && !open_tokens_.empty(); ++first_open_token_) {
    open_tokens_.pop_front();
  }
}

void Choice::add_event(text::OutputEvent event, ChoiceUpdate& update) {
  if (!update.events.empty() && joins(update.events.back(), event)) {
    update.events.back().text += event.text;
  } else {
    update.events.push_back(std::move(event));
  }
}

Timings Choice::timings() const {
  if (has_ended_) return timings_of(end_.stats);
  const auto progress = stream_->progress().value_or(engine::TokenStream::Progress{});
  return {.n_prompt = progress.n_computed,
          .n_cached = progress.n_cached,
          .n_generated = n_tokens(),
          .prompt_ms = progress.ms,
          .decode_ms = decode_ms_};
}

const char* Choice::finish_reason() const {
  if (is_cut()) return "length";
  return answer_.has_calls() ? "tool_calls" : "stop";
}

const char* Choice::end_label() const {
  if (end_.finish_reason == FinishReason::kCancelled) return "abort";
  if (end_.finish_reason == FinishReason::kDeadline) return "timeout";
  if (end_.finish_reason == FinishReason::kError) return "error";
  return finish_reason();
}

}  // namespace realizar::server
