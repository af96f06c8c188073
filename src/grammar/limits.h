// Limits on the compilation of a grammar. Grammars come with requests, so exceeding one is an error, never a crash or a
// stall: InvalidArgument, since the grammar will never fit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

#include "realizar/result.h"

namespace realizar::grammar {

struct Limits {
  size_t max_source_bytes = 1 << 20;
  size_t max_rules = 20'000;
  size_t max_states = 500'000;          // in the byte automaton; it may have eight times as many edges
  uint32_t compile_timeout_ms = 2'000;  // of CPU time
};

// The subject of such an error.
inline constexpr const char* kLimitSubject = "limit";

inline Error limit_exceeded(std::string message) {
  return invalid_argument(std::move(message), kLimitSubject);
}

// The time left for one compilation. It is the CPU time of the compiling thread, so that a busy machine accepts the
// same grammars as an idle one.
class Deadline {
 public:
  explicit Deadline(uint32_t timeout_ms)
      : timeout_ms_(timeout_ms), end_(processor_time() + std::chrono::milliseconds(timeout_ms)) {}

  Status check() const {
    if (processor_time() <= end_) return {};
    return limit_exceeded("the grammar takes longer to compile than " + std::to_string(timeout_ms_) + " ms");
  }

 private:
  static std::chrono::nanoseconds processor_time() {
    std::timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  }

  uint32_t timeout_ms_;
  std::chrono::nanoseconds end_;
};

}  // namespace realizar::grammar
