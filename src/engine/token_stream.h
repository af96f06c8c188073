// One request between the engine's thread and its reader. The engine writes tokens into a bounded ring and never waits:
// where the ring is full, or too much waits for a client that takes no more, the request ends. One writer (the engine),
// one reader thread; cancel() from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/request_sink.h"
#include "realizar/request.h"

namespace realizar::engine {

class ReadyQueue;

class TokenStream final : public RequestSink, public std::enable_shared_from_this<TokenStream> {
 public:
  struct End : Generation {      // without the tokens, which were popped
    std::optional<Error> error;  // of kError
    bool reader_was_slow = false;
  };

  // `capacity`: tokens that may wait for the reader, less one; a prompt that is reported has room of its own. The
  // memory for a token stays untouched until the token is written.
  explicit TokenStream(Request request, uint32_t capacity = 128);
  const Request& request() const { return request_; }

  // The reader's side. Tokens come first, then the end. An event's `top` is valid until the next pop.
  std::optional<TokenEvent> pop();
  // Once all tokens are popped and the request is over; null until then.
  const End* end() const;
  // After the end: what tokens took is not needed any more.
  void free_tokens() {
    slots_.reset();
    tops_.reset();
  }
  // How far the prompt is; nullopt until the request runs.
  struct Progress {
    uint32_t n_cached = 0, n_computed = 0;  // of its tokens
    double ms = 0;                          // since the first step
  };
  std::optional<Progress> progress() const;
  // The stream is ready whenever that changes. To be set before the engine has it.
  bool tells_progress = false;
  // What the reader wants done when it finds this stream ready; its own affair, the engine never calls it.
  std::function<void()> on_ready;
  // The client takes no more for now: the request ends when kMaxUnread tokens wait for it. Without that only a full
  // ring ends it, so that no client answers for a reader that is late.
  void set_blocked(bool is_blocked) { is_blocked_.store(is_blocked, std::memory_order_relaxed); }
  // Ends the request within one step.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  // The engine's side.
  bool on_token(const TokenEvent& event) override;
  void on_prompt(uint32_t n_cached, uint32_t n_computed, double ms) override;
  void on_end(const Ending& ending) noexcept override;
  bool is_cancelled() const override { return cancelled_.load(std::memory_order_relaxed); }

 private:
  friend class EngineThread;
  friend class ReadyQueue;
  static constexpr uint64_t kMaxUnread = 127;
  // Has no initializers, so that slots which no token reaches stay untouched.
  struct Slot {
    TokenId id;
    uint32_t index;
    float logprob;
    uint32_t n_top;
    bool has_logprob, is_prompt;
    float device_ms;
    double ms;
  };

  void announce();

  Request request_;
  const size_t n_slots_;
  std::unique_ptr<Slot[]> slots_;         // [n_slots_]
  std::unique_ptr<TokenLogprob[]> tops_;  // [n_slots_, n_logprobs]
  alignas(64) std::atomic<uint64_t> n_written_{0};
  alignas(64) std::atomic<uint64_t> n_read_{0};
  static constexpr uint64_t kNotBegun = ~uint64_t{0};
  std::atomic<uint64_t> prompt_counts_{kNotBegun};  // n_cached above n_computed, 32 bits each
  std::atomic<double> prompt_ms_{0};
  std::atomic<bool> ended_{false};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> is_blocked_{false};
  std::atomic<bool> is_ready_{false};  // stands in the ready queue
  End end_;
  bool overflowed_ = false;      // the writer's
  bool is_counted_out_ = false;  // the reader's
  ReadyQueue* ready_ = nullptr;
  std::shared_ptr<TokenStream> self_;  // while the engine has it
};

// The capacity with which a stream takes every token of the request, however slow its reader is.
uint32_t capacity_for_all(const Request& request, uint32_t n_ctx);

// The streams that have news: written by the engine's thread, taken by one reader thread. Each stands in it once at
// most, so a capacity of all streams there can be always suffices.
class ReadyQueue {
 public:
  explicit ReadyQueue(uint32_t capacity) : slots_(capacity) {}

  void push(std::shared_ptr<TokenStream> stream);
  // Null where there is none. What the stream has after this call is announced anew; so a stream may come once more
  // with nothing new.
  std::shared_ptr<TokenStream> pop();
  bool is_empty() const {
    return n_popped_.load(std::memory_order_relaxed) == n_pushed_.load(std::memory_order_acquire);
  }

 private:
  std::vector<std::shared_ptr<TokenStream>> slots_;
  alignas(64) std::atomic<uint64_t> n_pushed_{0};
  alignas(64) std::atomic<uint64_t> n_popped_{0};
};

}  // namespace realizar::engine
