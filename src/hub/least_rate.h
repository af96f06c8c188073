// Detects a reply that arrives too slowly: a server that sends a byte now and then would hold its client forever. Pure:
// the caller supplies the times.
#pragma once

#include <chrono>
#include <cstdint>

namespace realizar::hub {

class LeastRate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // At least `n_bytes` must arrive in each `window`, of which the first begins now; 0: any rate is accepted.
  LeastRate(uint64_t n_bytes, std::chrono::milliseconds window, Time now)
      : n_bytes_(n_bytes), window_(window), begin_(now) {}

  // `n_all`: bytes received so far. Call it more than once per window.
  bool is_missed(uint64_t n_all, Time now) {
    if (n_all - n_before_ >= n_bytes_) {
      n_before_ = n_all;
      begin_ = now;
    }
    return now - begin_ >= window_;
  }

 private:
  uint64_t n_bytes_;
  std::chrono::milliseconds window_;
  Time begin_;
  uint64_t n_before_ = 0;
};

}  // namespace realizar::hub
