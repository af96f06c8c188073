// The threads that talk to a Redis: two fetch blocks for waiting requests; when none waits, one of them sends prefixes
// and tries to reach a lost Redis. So slow sending does not delay requests.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/shared/redis_link.h"

namespace realizar::server {

class SharedThreads {
 public:
  // Work with a connection. An exception ends only this work.
  using Step = std::function<void(RedisLink&)>;

  SharedThreads(const CacheUrl& url, const std::string& password, RedisHealth& health)
      : url_(url), password_(password), health_(health) {}
  ~SharedThreads() { stop(); }
  SharedThreads(const SharedThreads&) = delete;
  SharedThreads& operator=(const SharedThreads&) = delete;

  const StopSignal& stop_signal() const { return stop_signal_; }
  void start();
  // Ends running steps; those that have not begun are dropped.
  void stop();

  // Any thread. Dropped after stop().
  void add_fetch(Step step) { add(fetches_, std::move(step)); }
  void add_store(Step step) { add(stores_, std::move(step)); }

 private:
  static constexpr size_t kThreads = 2;

  void add(std::deque<Step>& steps, Step step);
  void run(bool takes_stores);
  Step next_step(bool takes_stores);

  const CacheUrl& url_;
  const std::string& password_;
  RedisHealth& health_;
  StopSignal stop_signal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Step> fetches_, stores_;
  bool is_stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace realizar::server
