// A thread for one task that the system may never let finish, such as reading from a disk that does not answer. It is
// joined when it has ended; otherwise it is abandoned, and its result is lost.
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
  // State shared by the thread and its owner.
  class Listener {
   public:
    // Calls `f` unless the thread was abandoned: objects that `f` uses exist for the duration of the call.
    void tell(const std::function<void()>& f);

   private:
    friend class TaskThread;
    std::mutex mutex_;
    std::condition_variable end_;
    bool has_ended_ = false, is_left_ = false;
  };

  // Calls task(listener) on a new thread; it must not throw, and must only use objects of its own, or others within
  // tell(). Throws std::system_error if the system cannot start a thread.
  explicit TaskThread(std::function<void(Listener&)> task);
  // Waits for its end.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Waits for its end until `deadline`, then abandons the thread. False if it was abandoned.
  bool end_until(std::chrono::steady_clock::time_point deadline);

 private:
  std::shared_ptr<Listener> listener_;
  std::thread thread_;
};

}  // namespace realizar::server
