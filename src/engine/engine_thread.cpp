#include "engine/engine_thread.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "engine/adapters.h"
#include "engine/engine.h"
#include "engine/sequence.h"

namespace realizar::engine {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

// A request, a visit, or work for between steps: each call of `work_some` does some of it, and returns true when all is
// done. on_done is called after it, or when the thread ends.
struct EngineThread::Mail {
  std::shared_ptr<TokenStream> stream;
  SequencePtr sequence;
  std::function<void(Engine&)> visit = {};
  std::function<bool()> work_some = {};
  std::function<void()> on_done = {};
  Mail* next = nullptr;
};

EngineThread::EngineThread(Engine& engine, uint32_t max_queue, std::function<void()> on_progress)
    : engine_(engine),
      open_(max_queue + engine.max_seqs()),
      on_progress_(std::move(on_progress)),
      ready_(open_.most()),
      thread_([this] { run(); }) {}

EngineThread::~EngineThread() {
  stopping_.store(true, std::memory_order_relaxed);
  wake();
  thread_.join();
  // Mail that arrived after the thread's last look.
  take_mail();
  end_work();
  engine_.cancel_all();
}

Status EngineThread::submit(const std::shared_ptr<TokenStream>& stream) {
  if (draining_.load(std::memory_order_relaxed)) {
    return Error{ErrorCode::kResourceExhausted, "the server is shutting down", "shutdown"};
  }
  RZ_TRY(SequencePtr sequence, engine_.prepare(stream->request(), *stream));
  auto mail = std::make_unique<Mail>();
  mail->stream = stream;
  mail->sequence = std::move(sequence);
  const bool was_idle = n_open() == 0;
  if (!open_.take(stream->request().tenant)) return queue_is_full(max_open());
  // Time without requests is not a stall.
  if (was_idle) progress_at_.store(Clock::now(), std::memory_order_relaxed);
  stream->ready_ = &ready_;
  stream->self_ = stream;
  post(std::move(mail));
  return {};
}

void EngineThread::clear_cache(std::optional<uint64_t> tenant, std::function<void()> on_done) {
  const auto clear_some = [this, tenant, has_begun = false]() mutable {
    if (!std::exchange(has_begun, true)) engine_.forget_prefixes(tenant);
    return engine_.wipe_some();
  };
  post_work(clear_some, std::move(on_done));
}

void EngineThread::load_adapter(std::unique_ptr<AdapterLoad> load, std::function<void(Status)> on_done) {
  struct Loading {
    std::unique_ptr<AdapterLoad> load;
    Status status = Error{ErrorCode::kCancelled, "the server is shutting down", "shutdown"};
  };
  const auto loading = std::make_shared<Loading>(Loading{std::move(load)});
  const auto load_some = [this, loading] {
    const Result<bool> is_done = engine_.adapters().write_some(*loading->load);
    if (is_done.ok() && !*is_done) return false;
    loading->status = is_done.ok() ? Status() : Status(is_done.error());
    return true;
  };
  post_work(load_some, [loading, on_done = std::move(on_done)] { on_done(loading->status); });
}

void EngineThread::post_work(std::function<bool()> work_some, std::function<void()> on_done) {
  auto mail = std::make_unique<Mail>();
  mail->work_some = std::move(work_some);
  mail->on_done = std::move(on_done);
  post(std::move(mail));
}

void EngineThread::visit(std::function<void(Engine&)> visit) {
  auto mail = std::make_unique<Mail>();
  mail->visit = std::move(visit);
  post(std::move(mail));
}

void EngineThread::post(std::unique_ptr<Mail> mail) {
  Mail* const posted = mail.release();
  posted->next = mailbox_.load(std::memory_order_relaxed);
  while (!mailbox_.compare_exchange_weak(posted->next, posted, std::memory_order_release, std::memory_order_relaxed)) {
  }
  wake();
}

std::shared_ptr<TokenStream> EngineThread::next_ready() {
  std::shared_ptr<TokenStream> stream = ready_.pop();
  if (stream != nullptr && stream->ended_.load(std::memory_order_acquire) &&
      !std::exchange(stream->is_counted_out_, true)) {
    open_.give_back(stream->request().tenant);
  }
  return stream;
}

void EngineThread::wake() {
  n_wake_ups_.fetch_add(1, std::memory_order_release);
  n_wake_ups_.notify_one();
}

bool EngineThread::is_stalled(std::chrono::milliseconds patience) const {
  if (n_open() == 0) return false;
  const Clock::duration longest_step = longest_step_.load(std::memory_order_relaxed);
  return Clock::now() - progress_at_.load(std::memory_order_relaxed) >
         std::max<Clock::duration>(patience, 4 * longest_step);
}

// A request may end during admission, without any step.
void EngineThread::run() {
  engine_.set_max_open(max_open());
  while (true) {
    const uint32_t n_seen = n_wake_ups_.load(std::memory_order_acquire);
    take_mail();
    work_between_steps();
    tell();
    if (stopping_.load(std::memory_order_relaxed)) break;
    if (engine_.is_idle() && work_ != nullptr) continue;
    if (engine_.has_idle_work()) {
      static_cast<void>(engine_.idle_step().ok());  // after a failure no idle work remains
      continue;
    }
    if (engine_.is_idle()) {
      n_wake_ups_.wait(n_seen, std::memory_order_acquire);
      continue;
    }
    const auto start = Clock::now();
    // A failed step has ended the running requests, each with the error; the next ones may succeed.
    static_cast<void>(engine_.step().ok());
    const auto longest = std::max(longest_step_.load(std::memory_order_relaxed), Clock::now() - start);
    longest_step_.store(longest, std::memory_order_relaxed);
    tell();
  }
  engine_.cancel_all();
  tell();
}

void EngineThread::tell() {
  progress_at_.store(Clock::now(), std::memory_order_relaxed);
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
    std::unique_ptr<Mail> mail(std::exchange(oldest_first, oldest_first->next));
    if (mail->visit) {
      mail->visit(engine_);
      continue;
    }
    if (mail->sequence != nullptr) {
      engine_.submit(std::move(mail->sequence));
      continue;
    }
    Mail** last = &work_;
    while (*last != nullptr) last = &(*last)->next;
    mail->next = nullptr;
    *last = mail.release();
  }
}

// Does a part of the first piece of work, between two steps.
void EngineThread::work_between_steps() {
  if (work_ == nullptr || !work_->work_some()) return;
  const std::unique_ptr<Mail> done(std::exchange(work_, work_->next));
  done->on_done();
}

void EngineThread::end_work() {
  while (work_ != nullptr) {
    const std::unique_ptr<Mail> mail(std::exchange(work_, work_->next));
    mail->on_done();
  }
}

}  // namespace realizar::engine
