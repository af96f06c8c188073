// Invariants in a fuzz target: a false condition is a crash, which the fuzzer reports with its input.
#pragma once

#include <cstdlib>

inline void require(bool holds) {
  if (!holds) std::abort();
}
