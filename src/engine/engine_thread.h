// The thread that owns an Engine while a server runs. Requests arrive through a lock-free mailbox, tokens leave through
// their streams; the thread never waits for a reader.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "engine/open_requests.h"
#include "engine/token_stream.h"
#include "realizar/result.h"

namespace realizar::engine {

class AdapterLoad;
class Engine;

class EngineThread {
 public:
  // `max_queue`: requests that may wait in addition to the running ones. `on_progress` is called on the engine's thread
  // whenever a stream has new events; it must neither wait nor throw.
  EngineThread(Engine& engine, uint32_t max_queue, std::function<void()> on_progress);
  // Ends running requests with kCancelled.
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  // Any thread. Errors: those of Engine::prepare; ResourceExhausted if the queue is full and the tenant has no claim to
  // a slot, or if no new work is accepted. A waiting request may end in the same way, in favour of another tenant.
  Status submit(const std::shared_ptr<TokenStream>& stream);
  // One reader thread: the next stream with new events, or null. A stream whose end was seen here no longer counts.
  std::shared_ptr<TokenStream> next_ready();

  // Any thread. Between two steps the engine forgets `tenant`'s prefixes, or all, and zeroes the data of ended
  // requests. `on_done` is called when that is done, or the thread ends; it must neither wait nor throw.
  void clear_cache(std::optional<uint64_t> tenant, std::function<void()> on_done);
  // Any thread. Between steps the engine writes an adapter from Engine::read_adapter to its slot, some of it at a time.
  // `on_done` is called with the result; it must neither wait nor throw.
  void load_adapter(std::unique_ptr<AdapterLoad> load, std::function<void(Status)> on_done);

  // Any thread. Calls `visit` on the engine's thread, between two steps, which wait for it; it must not throw. If the
  // thread has ended, its destructor calls it.
  void visit(std::function<void(Engine&)> visit);

  // Whether the calling thread is the engine's.
  bool is_current() const { return std::this_thread::get_id() == thread_.get_id(); }
  // Accepts no new work from now on; running and waiting requests continue.
  void drain() { draining_.store(true, std::memory_order_relaxed); }
  // The most requests at once, running and waiting.
  uint32_t max_open() const { return open_.max_open(); }
  // Requests that were accepted and whose end was not seen yet.
  uint32_t n_open() const { return open_.n_open(); }
  const Engine& engine() const { return engine_; }
  // Whether there are requests, and no step or admission has finished for longer than `patience` and for longer than
  // four times the longest step so far.
  bool is_stalled(std::chrono::milliseconds patience) const;

 private:
  struct Mail;

  void run();
  void post(std::unique_ptr<Mail> mail);
  void take_mail();
  void post_work(std::function<bool()> work_some, std::function<void()> on_done);
  void work_between_steps();
  void end_work();
  void tell();
  void wake();

  Engine& engine_;
  OpenRequests open_;
  std::function<void()> on_progress_;
  ReadyQueue ready_;
  std::atomic<Mail*> mailbox_{nullptr};  // newest first
  Mail* work_ = nullptr;                 // a list, in order; owned by the engine's thread
  std::atomic<uint32_t> n_wake_ups_{0};
  std::atomic<bool> draining_{false}, stopping_{false};
  std::atomic<std::chrono::steady_clock::time_point> progress_at_{};
  std::atomic<std::chrono::steady_clock::duration> longest_step_{};
  std::thread thread_;
};

}  // namespace realizar::engine
