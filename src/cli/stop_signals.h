// Ctrl-C, a terminal that closes and a request to end let a command that writes files finish its step and clean up. A
// second one ends the process.
#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace realizar::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP set a flag. One at a time.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  static const std::atomic<bool>& flag();

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[kSignals.size()]{};
};

}  // namespace realizar::cli
