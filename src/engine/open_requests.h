// Number of requests that an engine has accepted without having reported their end, in total and for each tenant. Any
// thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "engine/fair_share.h"
#include "realizar/result.h"

namespace realizar::engine {

// ResourceExhausted: n_total requests are open. The error's subject is kQueueSubject.
inline constexpr const char* kQueueSubject = "queue";
inline Error queue_is_full(uint32_t n_total) {
  return {ErrorCode::kResourceExhausted, std::to_string(n_total) + " requests are running or waiting already",
          kQueueSubject};
}

class OpenRequests {
 public:
  explicit OpenRequests(uint32_t max_open) : max_open_(max_open) {}

  // False: no room for another one. Tenants with a claim get room beyond max_open, for as long as the engine needs to
  // end others for them.
  bool take(uint64_t tenant) {
    const std::lock_guard lock(mutex_);
    const auto own = n_of_.try_emplace(tenant, 0).first;
    const bool has_room = n_open_ < max_open_ || (n_open_ < most() && has_claim(own->second + 1, n_most(), share()));
    if (has_room) {
      ++own->second;
      n_open_.fetch_add(1, std::memory_order_acq_rel);
    } else if (own->second == 0) {
      n_of_.erase(own);
    }
    return has_room;
  }

  void give_back(uint64_t tenant) {
    const std::lock_guard lock(mutex_);
    n_open_.fetch_sub(1, std::memory_order_acq_rel);
    if (const auto own = n_of_.find(tenant); --own->second == 0) n_of_.erase(own);
  }

  uint32_t n_open() const { return n_open_.load(std::memory_order_acquire); }
  uint32_t max_open() const { return max_open_; }
  // The most that can be open at once.
  uint32_t most() const { return 2 * max_open_; }

 private:
  uint64_t share() const { return share_of(max_open_, n_of_.size()); }
  uint32_t n_most() const {
    uint32_t n = 0;
    for (const auto& [tenant, n_own] : n_of_) n = std::max(n, n_own);
    return n;
  }

  const uint32_t max_open_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, uint32_t> n_of_;  // above 0
  std::atomic<uint32_t> n_open_{0};
};

}  // namespace realizar::engine
