// What a grammar may cost while it is compiled. Grammars come with requests, so every one of these is an error, never a
// crash or a stall: InvalidArgument, since the same grammar will never fit.
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
  size_t max_states = 500'000;          // of the byte automaton; its edges may be eight times as many
  uint32_t compile_timeout_ms = 2'000;  // of processor time
};

// The subject of such an error.
inline constexpr const char* kLimitSubject = "limit";

inline Error limit_exceeded(std::string message) {
  return invalid_argument(std::move(message), kLimitSubject);
}

// The time left for one compilation. It is the processor's time for the thread that compiles, so that a busy machine
// refuses no grammar that an idle one takes.
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
