// A thread that does one thing which the system may never let it finish, such as reading from a disk that does not
// answer. It is joined when it has ended; else it is abandoned, and nobody hears its result.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace realizar::server {

class TaskThread {
 public:
  // What the thread shares with whoever waits for it.
  class Listener {
   public:
    // Calls `f` unless the thread was abandoned: what `f` uses is there for as long as the call takes.
    void tell(const std::function<void()>& f);

   private:
    friend class TaskThread;
    std::mutex mutex_;
    std::condition_variable end_;
    bool has_ended_ = false, is_left_ = false;
  };

  // Calls task(listener) on a new thread; it must not throw, and what it uses must be its own or be used in tell().
  // Throws std::system_error where the system gives no thread.
  explicit TaskThread(std::function<void(Listener&)> task);
  // Waits for its end.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Waits for its end until `deadline`, then abandons the thread. False where it had to.
  bool end_until(std::chrono::steady_clock::time_point deadline);

 private:
  std::shared_ptr<Listener> listener_;
  std::thread thread_;
};

}  // namespace realizar::server
