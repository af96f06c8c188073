#include "engine/token_stream.h"

#include <algorithm>

#include "base/caught.h"
#include "base/check.h"
#include "engine/sequence.h"

namespace realizar::engine {

TokenStream::TokenStream(Request request, uint32_t capacity)
    : request_(std::move(request)),
      n_slots_(capacity + (request_.prompt_logprobs ? request_.prompt.size() : 0)),
      slots_(std::make_unique_for_overwrite<Slot[]>(n_slots_)),
      tops_(std::make_unique_for_overwrite<TokenLogprob[]>(n_slots_ * request_.n_logprobs)) {}

std::optional<TokenEvent> TokenStream::pop() {
  const uint64_t n_read = n_read_.load(std::memory_order_relaxed);
  // The slot of the previous event is released only now: its `top` was valid until this call.
  if (n_read == n_written_.load(std::memory_order_acquire)) return std::nullopt;
  const size_t at = n_read % n_slots_;
  const Slot& slot = slots_[at];
  const std::span<const TokenLogprob> top(tops_.get() + at * request_.n_logprobs, slot.n_top);
  const auto logprob = slot.has_logprob ? std::optional(slot.logprob) : std::nullopt;
  const TokenEvent token{slot.id, slot.index, logprob, top, slot.is_prompt, slot.ms, slot.device_ms};
  n_read_.store(n_read + 1, std::memory_order_release);
  return token;
}

const TokenStream::End* TokenStream::end() const {
  if (!ended_.load(std::memory_order_acquire)) return nullptr;
  const bool is_empty = n_read_.load(std::memory_order_relaxed) == n_written_.load(std::memory_order_relaxed);
  return is_empty ? &end_ : nullptr;
}

// One slot stays unused: the reader may still use the `top` of its last event.
bool TokenStream::on_token(const TokenEvent& event) {
  const uint64_t n_written = n_written_.load(std::memory_order_relaxed);
  const uint64_t n_unread = n_written - n_read_.load(std::memory_order_acquire);
  const bool is_too_slow = is_blocked_.load(std::memory_order_relaxed) && n_unread >= kMaxUnread;
  if (n_unread + 1 >= n_slots_ || is_too_slow) {
    overflowed_ = true;
    return false;
  }
  const size_t at = n_written % n_slots_;
  const auto n_top = static_cast<uint32_t>(std::min<size_t>(event.top.size(), request_.n_logprobs));
  std::copy_n(event.top.begin(), n_top, tops_.get() + at * request_.n_logprobs);
  slots_[at] = {event.id,
                event.index,
                event.logprob.value_or(0.0f),
                n_top,
                event.logprob.has_value(),
                event.is_prompt,
                static_cast<float>(event.device_ms),
                event.ms};
  n_written_.store(n_written + 1, std::memory_order_release);
  announce();
  return true;
}

void TokenStream::on_prompt(uint32_t n_cached, uint32_t n_computed, double ms) {
  prompt_ms_.store(ms, std::memory_order_relaxed);
  prompt_counts_.store(uint64_t{n_cached} << 32 | n_computed, std::memory_order_release);
  if (tells_progress) announce();
}

std::optional<TokenStream::Progress> TokenStream::progress() const {
  const uint64_t counts = prompt_counts_.load(std::memory_order_acquire);
  if (counts == kNotBegun) return std::nullopt;
  return Progress{static_cast<uint32_t>(counts >> 32), static_cast<uint32_t>(counts),
                  prompt_ms_.load(std::memory_order_relaxed)};
}

void TokenStream::on_end(const Ending& ending) noexcept {
  end_.finish_reason = ending.reason;
  end_.stop_token = ending.stop_token;
  end_.stats = ending.stats;
  const Status taken = caught([&] {
    end_.embedding.assign(ending.embedding.begin(), ending.embedding.end());
    if (ending.operations != nullptr) end_.trace = ending.operations->trace();
    if (ending.error != nullptr) end_.error = *ending.error;
  });
  if (!taken.ok()) {
    end_.finish_reason = FinishReason::kError;
    end_.error = taken.error();
  }
  end_.reader_was_slow = overflowed_;
  ended_.store(true, std::memory_order_release);
  announce();
  // The engine's last use of this object, unless the queue or the reader holds it.
  const std::shared_ptr<TokenStream> released = std::move(self_);
}

void TokenStream::announce() {
  if (ready_ != nullptr && !is_ready_.exchange(true, std::memory_order_acq_rel)) ready_->push(self_);
}

uint32_t capacity_for_all(const Request& request, uint32_t n_ctx) {
  if (request.pooling != Pooling::kNone) return 1;  // a vector, no tokens
  const auto n_prompt = static_cast<uint32_t>(std::min<size_t>(request.prompt.size(), n_ctx));
  const uint32_t n_room = n_answer_room(n_ctx, n_prompt);
  return std::min(request.max_tokens.value_or(n_room), n_room) + 1;
}

void ReadyQueue::push(std::shared_ptr<TokenStream> stream) {
  const uint64_t n_pushed = n_pushed_.load(std::memory_order_relaxed);
  REQUIRE(n_pushed - n_popped_.load(std::memory_order_acquire) < slots_.size());
  slots_[n_pushed % slots_.size()] = std::move(stream);
  n_pushed_.store(n_pushed + 1, std::memory_order_release);
}

std::shared_ptr<TokenStream> ReadyQueue::pop() {
  if (is_empty()) return nullptr;
  const uint64_t n_popped = n_popped_.load(std::memory_order_relaxed);
  std::shared_ptr<TokenStream> stream = std::move(slots_[n_popped % slots_.size()]);
  n_popped_.store(n_popped + 1, std::memory_order_release);
  // An exchange, so that either the writer sees it and announces the stream again, or its earlier writes are visible
  // after this.
  stream->is_ready_.exchange(false, std::memory_order_acq_rel);
  return stream;
}

}  // namespace realizar::engine
