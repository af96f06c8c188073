// A function on a separate stack that can stop in the middle and be resumed, on one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace realizar::test {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next resume() begins body(), which must live until it has ended. Precondition: the previous one has ended.
  void start(const std::function<void()>& body);
  // Runs until suspend() or the end; returns whether it was the end.
  bool resume();
  // Called inside body().
  void suspend();

 private:
  struct Contexts;
  static void enter(Fiber* fiber);

  std::unique_ptr<std::byte[]> stack_;
  std::unique_ptr<Contexts> contexts_;
  const std::function<void()>* body_ = nullptr;
  bool is_done_ = true;
};

}  // namespace realizar::test
