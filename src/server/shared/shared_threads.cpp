#include "server/shared/shared_threads.h"

#include <utility>

#include "base/caught.h"

namespace realizar::server {

void SharedThreads::start() {
  for (size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this, i] { run(i == 0); });
}

void SharedThreads::stop() {
  std::deque<Step> fetches, stores;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    fetches.swap(fetches_);
    stores.swap(stores_);
  }
  stop_signal_.send();
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void SharedThreads::add(std::deque<Step>& steps, Step step) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return;
  steps.push_back(std::move(step));
  changed_.notify_all();
}

// Empty at the end.
SharedThreads::Step SharedThreads::next_step(bool takes_stores) {
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    std::deque<Step>& steps = fetches_.empty() && takes_stores ? stores_ : fetches_;
    if (!steps.empty()) {
      Step step = std::move(steps.front());
      steps.pop_front();
      return step;
    }
    if (!takes_stores || health_.is_up()) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, health_.next_try()) == std::cv_status::timeout) {
      return [](RedisLink& link) { static_cast<void>(link.probe()); };
    }
  }
  return {};
}

void SharedThreads::run(bool takes_stores) {
  RedisLink link(url_, password_, stop_signal_, health_);
  while (true) {
    Step step;
    if (!caught([&] { step = next_step(takes_stores); }).ok()) continue;
    if (!step) return;
    static_cast<void>(caught([&] { step(link); }));
    step = {};
    if (health_.is_up()) continue;
    // A thread that tries to reach Redis may only wait for steps.
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
}

}  // namespace realizar::server
