// A coroutine of the I/O thread with a Status or a Result. It begins when it is awaited, or resumed; an exception
// becomes its result. The task's owner owns the coroutine: if the task is destroyed while it waits, its objects are
// destroyed.
#pragma once

#include <coroutine>
#include <optional>
#include <utility>

#include "base/caught.h"
#include "base/try.h"

// RZ_TRY and RZ_CHECK_OK for coroutines. The expression may await a task, or anything that has a name.
#define RZ_CO_TRY(decl, expr) RZ_CO_TRY_WITH(RZ_CONCAT(rz_result_, __LINE__), decl, expr)
#define RZ_CO_TRY_WITH(tmp, decl, expr)            \
  auto tmp = (expr);                               \
  if (!tmp.ok()) co_return std::move(tmp).error(); \
  decl = std::move(tmp).value()
#define RZ_CO_CHECK_OK(expr)                                     \
  do {                                                           \
    auto rz_status = (expr);                                     \
    if (!rz_status.ok()) co_return std::move(rz_status).error(); \
  } while (false)

namespace realizar::server {

// Calls `f` at the end of a scope, even of a coroutine that is destroyed while it waits.
template <class F>
class AtEnd {
 public:
  explicit AtEnd(F f) : f_(std::move(f)) {}
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() { f_(); }

 private:
  F f_;
};

template <class T>
class [[nodiscard]] Task {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the language's name
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct promise_type {
    std::optional<T> result;
    std::coroutine_handle<> caller = std::noop_coroutine();

    // Resumes the coroutine that awaits the result.
    struct End {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(Handle ended) const noexcept { return ended.promise().caller; }
      void await_resume() const noexcept {}
    };
    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    End final_suspend() const noexcept { return {}; }
    void return_value(T value) { result.emplace(std::move(value)); }
    void unhandled_exception() noexcept { result.emplace(error_in_flight()); }
  };
  // NOLINTEND(readability-identifier-naming)

  Task() = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  std::coroutine_handle<> handle() const { return handle_; }
  bool is_done() const { return handle_ && handle_.done(); }
  // The task must be done.
  T& result() { return *handle_.promise().result; }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().caller = caller;
    return handle_;
  }
  T await_resume() { return std::move(result()); }

 private:
  explicit Task(Handle handle) : handle_(handle) {}

  Handle handle_;
};

}  // namespace realizar::server
