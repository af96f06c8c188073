#include "server/http/task_thread.h"

#include <utility>

namespace realizar::server {

void TaskThread::Listener::tell(const std::function<void()>& f) {
  const std::lock_guard lock(mutex_);
  if (!is_left_) f();
}

TaskThread::TaskThread(std::function<void(Listener&)> task)
    : listener_(std::make_shared<Listener>()), thread_([listener = listener_, task = std::move(task)]() mutable {
        task(*listener);
        task = {};  // its captures are destroyed before anyone is notified
        const std::lock_guard lock(listener->mutex_);
        listener->has_ended_ = true;
        listener->end_.notify_all();
      }) {}

TaskThread::~TaskThread() {
  if (thread_.joinable()) thread_.join();
}

bool TaskThread::end_until(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(listener_->mutex_);
  const bool has_ended = listener_->end_.wait_until(lock, deadline, [&] { return listener_->has_ended_; });
  listener_->is_left_ = !has_ended;
  lock.unlock();
  if (has_ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return has_ended;
}

}  // namespace realizar::server
