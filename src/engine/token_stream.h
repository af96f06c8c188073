// Connects one request on the engine's thread with its reader. The engine writes tokens to a bounded ring and never
// waits: if the ring is full, or too much is unread by a blocked client, the request ends. One writer (the engine), one
// reader thread; cancel() from any thread.
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
    std::optional<Error> error;  // for kError
    bool reader_was_slow = false;
  };

  // `capacity`: unread tokens that fit, plus one; a prompt's reported tokens have separate room. Memory for a token is
  // not touched before the token is written.
  explicit TokenStream(Request request, uint32_t capacity = 128);
  const Request& request() const { return request_; }

  // For the reader. Tokens come first, then the end. An event's `top` is valid until the next pop.
  std::optional<TokenEvent> pop();
  // Set after all tokens are popped and the request has ended; null before.
  const End* end() const;
  // Call after the end: frees the memory for tokens.
  void free_tokens() {
    slots_.reset();
    tops_.reset();
  }
  // Progress of the prompt; nullopt until the request runs.
  struct Progress {
    uint32_t n_cached = 0, n_computed = 0;  // of its tokens
    double ms = 0;                          // since the first step
  };
  std::optional<Progress> progress() const;
  // The stream becomes ready whenever that changes. Set before submitting it.
  bool tells_progress = false;
  // The reader's continuation for when this stream is ready; the engine never calls it.
  std::function<void()> on_ready;
  // The client accepts no more for now: the request ends when kMaxUnread tokens are unread. Otherwise only a full ring
  // ends it, so that a client does not suffer from a late reader.
  void set_blocked(bool is_blocked) { is_blocked_.store(is_blocked, std::memory_order_relaxed); }
  // Ends the request within one step.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  // For the engine.
  bool on_token(const TokenEvent& event) override;
  void on_prompt(uint32_t n_cached, uint32_t n_computed, double ms) override;
  void on_end(const Ending& ending) noexcept override;
  bool is_cancelled() const override { return cancelled_.load(std::memory_order_relaxed); }

 private:
  friend class EngineThread;
  friend class ReadyQueue;
  static constexpr uint64_t kMaxUnread = 127;
  // Without initializers, so that unused slots stay untouched.
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
  std::atomic<uint64_t> prompt_counts_{kNotBegun};  // n_cached in the upper, n_computed in the lower 32 bits
  std::atomic<double> prompt_ms_{0};
  std::atomic<bool> ended_{false};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> is_blocked_{false};
  std::atomic<bool> is_ready_{false};  // is in the ready queue
  End end_;
  bool overflowed_ = false;      // for the writer
  bool is_counted_out_ = false;  // for the reader
  ReadyQueue* ready_ = nullptr;
  std::shared_ptr<TokenStream> self_;  // set while the engine has it
};

// A capacity that holds every token of the request, however slow its reader is.
uint32_t capacity_for_all(const Request& request, uint32_t n_ctx);

// The streams with new events: written by the engine's thread, read by one thread. A stream is in it at most once, so a
// capacity of the number of streams suffices.
class ReadyQueue {
 public:
  explicit ReadyQueue(uint32_t capacity) : slots_(capacity) {}

  void push(std::shared_ptr<TokenStream> stream);
  // Null if there is none. Later events of the stream announce it again, so a stream may appear without new events.
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
