// Tells whether a reply comes too slowly: a server that sends a byte now and then would hold its client for ever. Pure:
// the times are the caller's.
#pragma once

#include <chrono>
#include <cstdint>

namespace realizar::hub {

class LeastRate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // At least `n_bytes` must come in each `window`, whose first one begins now; 0 bytes: any rate will do.
  LeastRate(uint64_t n_bytes, std::chrono::milliseconds window, Time now)
      : n_bytes_(n_bytes), window_(window), begin_(now) {}

  // `n_all`: bytes that have come so far. To be asked more often than once in a window.
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
