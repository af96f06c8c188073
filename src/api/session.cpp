#include "realizar/session.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "api/language_model.h"
#include "api/session_answer.h"
#include "api/text_builder.h"
#include "base/caught.h"
#include "base/try.h"
#include "engine/engine.h"
#include "engine/engine_thread.h"

namespace realizar {
namespace {

// A request with callbacks. The callbacks and the builder are used only on the session's thread.
class TextAnswer final : public SessionAnswer {
 public:
  TextAnswer(Request request, uint32_t capacity, const text::Tokenizer& tokenizer, const text::OutputFormat& format,
             const TextPlan& plan, TextCallback on_text, Session::EndCallback on_end)
      : stream_(std::make_shared<engine::TokenStream>(std::move(request), capacity)),
        on_text_(std::move(on_text)),
        on_end_(std::move(on_end)),
        builder_(tokenizer, format, stream_->request().prompt, plan, on_text_) {}

  const std::shared_ptr<engine::TokenStream>& stream() const { return stream_; }
  void cancel() override { stream_->cancel(); }

  bool go_on() override {
    while (const auto token = stream_->pop()) take_token(*token);
    const engine::TokenStream::End* end = stream_->end();
    if (end == nullptr) return true;
    auto result = result_of(*end);
    static_cast<void>(caught([&] {
      if (on_end_) on_end_(std::move(result));
    }));
    return false;
  }

 private:
  void take_token(const TokenEvent& token) {
    // The engine may be a step past a stop string, or past a callback that returned false.
    if (!is_wanted_) return;
    if (!token.is_prompt) tokens_.push_back(token.id);
    failure_ = caught([&] { is_wanted_ = builder_.push(token); });
    if (!failure_.ok()) is_wanted_ = false;
    if (!is_wanted_) stream_->cancel();
  }

  Result<TextGeneration> result_of(const engine::TokenStream::End& end) {
    if (!failure_.ok()) return failure_.error();
    if (end.error && is_wanted_) return *end.error;
    Generation generation = static_cast<const Generation&>(end);
    generation.tokens = std::move(tokens_);
    // The engine's own end came after the answer's end.
    if (!is_wanted_) {
      generation.stop_token.reset();
      generation.stats.n_generated = static_cast<uint32_t>(generation.tokens.size());
    }
    return caught([&]() -> Result<TextGeneration> { return builder_.finish(std::move(generation)); });
  }

  std::shared_ptr<engine::TokenStream> stream_;
  TextCallback on_text_;
  Session::EndCallback on_end_;
  TextBuilder builder_;
  std::vector<TokenId> tokens_;
  bool is_wanted_ = true;
  Status failure_;  // from a callback that threw
};

}  // namespace

class Session::Impl {
 public:
  Impl(LanguageModel::Impl& model, const SessionOptions& options)
      : hold_{model},
        model_(model),
        engine_(*model.loaded->engine, options.max_queue, [this] { wake(); }),
        reader_([this] { read(); }) {}

  ~Impl() {
    engine_.drain();
    is_closing_ = true;
    cancel_all();
    wake();
    reader_.join();
  }

  Result<RequestId> submit(Request request, const TextOptions& text, TextCallback on_text, EndCallback on_end) {
    RZ_TRY(const TextPlan plan, plan_text(text));
    const uint32_t capacity = engine::capacity_for_all(request, model_.loaded->engine->n_ctx());
    const auto answer =
        std::make_shared<TextAnswer>(std::move(request), capacity, *model_.loaded->tokenizer,
                                     model_.loaded->output_format, plan, std::move(on_text), std::move(on_end));
    const uint64_t id = next_id();
    answer->stream()->on_ready = [this, id] { go_on(id); };
    open(id, answer);
    if (const Status status = engine_.submit(answer->stream()); !status.ok()) {
      forget(id);
      return status.error();
    }
    // A callback may submit while the session ends.
    if (is_closing_) answer->cancel();
    return RequestId{id};
  }

  Result<RequestId> begin_answer(const SessionParts::Make& make) {
    const uint64_t id = next_id();
    RZ_TRY(std::shared_ptr<SessionAnswer> answer, make([this, id] { call_again(id); }));
    open(id, std::move(answer));
    if (is_closing_) cancel(RequestId{id});
    call_again(id);
    return RequestId{id};
  }

  SessionParts parts() { return {*model_.loaded, engine_}; }

  void cancel(RequestId given) {
    const auto id = static_cast<uint64_t>(given);
    {
      const std::lock_guard lock(mutex_);
      const auto found = open_.find(id);
      if (found == open_.end()) return;
      found->second->cancel();
      called_.push_back(id);
    }
    wake();
  }

  size_t n_open() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }

  // Whether this thread is one on which a request's callbacks or its constraint are called.
  bool in_callback() const { return std::this_thread::get_id() == reader_.get_id() || engine_.is_current(); }

  // Ends the session on a separate thread, since the threads of callbacks cannot wait for themselves.
  static void end_elsewhere(std::unique_ptr<Impl> session) {
    std::thread& end = session->hold_.model.session_end;
    end = std::thread([ending = std::move(session)]() mutable { ending.reset(); });
  }

  void wait() const {
    if (in_callback()) return;
    std::unique_lock lock(mutex_);
    all_told_.wait(lock, [this] { return open_.empty(); });
  }

  void clear_cache() {
    const auto done = std::make_shared<std::promise<void>>();
    engine_.clear_cache(std::nullopt, [done] { done->set_value(); });
    if (!engine_.is_current()) done->get_future().wait();
  }

  // Runs between two steps, on the engine's thread.
  Status visit(const std::function<void(engine::Engine&)>& visit) {
    if (in_callback()) return invalid_argument("the model is busy with a callback of its session", "model");
    std::promise<Status> done;
    engine_.visit([&](engine::Engine& engine) { done.set_value(caught([&] { visit(engine); })); });
    return done.get_future().get();
  }

  Result<std::vector<float>> logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last) {
    Result<std::vector<float>> logits = std::vector<float>();
    RZ_CHECK_OK(visit([&](engine::Engine& engine) { logits = engine.logits(tokens, n_prompt, n_last); }));
    return logits;
  }

  Status set_trace(bool on) {
    return visit([&](engine::Engine&) { model_.trace_steps(on); });
  }

 private:
  void cancel_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, answer] : open_) {
      answer->cancel();
      called_.push_back(id);
    }
  }

  uint64_t next_id() { return n_submitted_.fetch_add(1) + 1; }

  void open(uint64_t id, std::shared_ptr<SessionAnswer> answer) {
    const std::lock_guard lock(mutex_);
    open_.emplace(id, std::move(answer));
  }

  std::shared_ptr<SessionAnswer> find(uint64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(id);
    return found == open_.end() ? nullptr : found->second;
  }

  void forget(uint64_t id) {
    const std::lock_guard lock(mutex_);
    open_.erase(id);
    if (open_.empty()) all_told_.notify_all();
  }

  void call_again(uint64_t id) {
    {
      const std::lock_guard lock(mutex_);
      called_.push_back(id);
    }
    wake();
  }

  std::vector<uint64_t> take_called() {
    const std::lock_guard lock(mutex_);
    return std::exchange(called_, {});
  }

  void wake() {
    n_wake_ups_.fetch_add(1, std::memory_order_release);
    n_wake_ups_.notify_one();
  }

  void read() {
    while (true) {
      const uint32_t n_seen = n_wake_ups_.load(std::memory_order_acquire);
      while (const auto stream = engine_.next_ready()) {
        if (stream->on_ready) stream->on_ready();  // null if its answer has ended
      }
      for (const uint64_t id : take_called()) go_on(id);
      if (is_closing_ && n_open() == 0) return;
      n_wake_ups_.wait(n_seen, std::memory_order_acquire);
    }
  }

  void go_on(uint64_t id) {
    const auto answer = find(id);
    if (answer != nullptr && !answer->go_on()) forget(id);
  }

  // Returns the model after everything else has ended.
  struct Hold {
    LanguageModel::Impl& model;
    ~Hold() { model.has_session = false; }
  };

  const Hold hold_;
  LanguageModel::Impl& model_;
  mutable std::mutex mutex_;
  mutable std::condition_variable all_told_;
  std::map<uint64_t, std::shared_ptr<SessionAnswer>> open_;
  std::vector<uint64_t> called_;  // answers to continue
  std::atomic<uint64_t> n_submitted_{0};
  std::atomic<uint32_t> n_wake_ups_{0};
  std::atomic<bool> is_closing_{false};
  engine::EngineThread engine_;
  std::thread reader_;  // last: it ends before the members that it uses
};

Result<Session> Session::open(LanguageModel& model, const SessionOptions& options) {
  LanguageModel::Impl& impl = LanguageModel::Impl::of(model);
  RZ_CHECK_OK(impl.loaded->require_tokenizer());
  RZ_CHECK_OK(impl.begin_session());
  return caught([&]() -> Result<Session> { return Session(std::make_unique<Impl>(impl, options)); });
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  const Session old(std::move(*this));
  impl_ = std::move(other.impl_);
  return *this;
}
Session::~Session() {
  if (in_callback()) Impl::end_elsewhere(std::move(impl_));
}

Result<RequestId> Session::submit(Request request, const TextOptions& text, TextCallback on_text, EndCallback on_end) {
  return impl_->submit(std::move(request), text, std::move(on_text), std::move(on_end));
}

std::future<Result<TextGeneration>> Session::ask(Request request, const TextOptions& text) {
  const auto promise = std::make_shared<std::promise<Result<TextGeneration>>>();
  auto future = promise->get_future();
  const auto id = submit(std::move(request), text, {},
                         [promise](Result<TextGeneration> result) { promise->set_value(std::move(result)); });
  if (!id.ok()) promise->set_value(id.error());
  return future;
}

void Session::cancel(RequestId id) {
  impl_->cancel(id);
}
bool Session::in_callback() const {
  return impl_ != nullptr && impl_->in_callback();
}
size_t Session::n_open() const {
  return impl_->n_open();
}
void Session::wait() const {
  impl_->wait();
}
void Session::clear_cache() {
  impl_->clear_cache();
}
Result<std::vector<float>> Session::logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last) {
  return impl_->logits(tokens, n_prompt, n_last);
}
Status Session::set_trace(bool on) {
  return impl_->set_trace(on);
}

SessionParts SessionParts::of(const Session& session) {
  return session.impl_->parts();
}

Result<RequestId> SessionParts::begin_answer(const Session& session, const Make& make) {
  return session.impl_->begin_answer(make);
}

}  // namespace realizar
