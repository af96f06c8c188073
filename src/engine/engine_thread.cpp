#include "engine/engine_thread.h"

#include <fmt/format.h>

#include <utility>

namespace realizar {

EngineThread::EngineThread(Engine& engine, uint32_t max_queue, std::function<void()> on_progress)
    : engine_(engine),
      max_open_(max_queue + engine.max_seqs()),
      on_progress_(std::move(on_progress)),
      ready_(max_open_),
      thread_([this] { run(); }) {}

EngineThread::~EngineThread() {
  stopping_.store(true, std::memory_order_relaxed);
  wake();
  thread_.join();
  // What came in after the thread's last look.
  take_mail();
  engine_.cancel_all();
}

Status EngineThread::submit(const std::shared_ptr<TokenStream>& stream) {
  if (draining_.load(std::memory_order_relaxed)) {
    return Error{ErrorCode::kResourceExhausted, "the server is shutting down", "shutdown"};
  }
  RZ_TRY(SequencePtr sequence, engine_.prepare(stream->request(), *stream));
  if (n_open_.fetch_add(1, std::memory_order_acq_rel) >= max_open_) {
    n_open_.fetch_sub(1, std::memory_order_acq_rel);
    return Error{ErrorCode::kResourceExhausted, fmt::format("{} requests are running or waiting already", max_open_),
                 "queue"};
  }
  stream->ready_ = &ready_;
  stream->self_ = stream;
  Mail* mail = new Mail{stream, std::move(sequence), mailbox_.load(std::memory_order_relaxed)};
  while (!mailbox_.compare_exchange_weak(mail->next, mail, std::memory_order_release, std::memory_order_relaxed)) {
  }
  wake();
  return {};
}

std::shared_ptr<TokenStream> EngineThread::next_ready() {
  std::shared_ptr<TokenStream> stream = ready_.pop();
  if (stream != nullptr && stream->ended_.load(std::memory_order_acquire) &&
      !std::exchange(stream->is_counted_out_, true)) {
    n_open_.fetch_sub(1, std::memory_order_acq_rel);
  }
  return stream;
}

void EngineThread::wake() {
  n_wake_ups_.fetch_add(1, std::memory_order_release);
  n_wake_ups_.notify_one();
}

void EngineThread::run() {
  while (true) {
    const uint32_t n_seen = n_wake_ups_.load(std::memory_order_acquire);
    take_mail();
    if (stopping_.load(std::memory_order_relaxed)) break;
    if (engine_.is_idle()) {
      n_wake_ups_.wait(n_seen, std::memory_order_acquire);
      continue;
    }
    // A device's failure has ended the running requests, each with the error; the next ones may fare better.
    static_cast<void>(engine_.step().ok());
    if (!ready_.is_empty()) on_progress_();
  }
  engine_.cancel_all();
  if (!ready_.is_empty()) on_progress_();
}

void EngineThread::take_mail() {
  Mail* newest_first = mailbox_.exchange(nullptr, std::memory_order_acquire);
  Mail* oldest_first = nullptr;
  while (newest_first != nullptr) {
    Mail* mail = std::exchange(newest_first, newest_first->next);
    mail->next = oldest_first;
    oldest_first = mail;
  }
  while (oldest_first != nullptr) {
    const std::unique_ptr<Mail> mail(std::exchange(oldest_first, oldest_first->next));
    engine_.submit(std::move(mail->sequence));
  }
}

}  // namespace realizar
