// The blocks of a launch, and what CUDA allows of them. A number that grows with a step's rows belongs in x.
#pragma once

#include <cstdint>

#include "base/check.h"

namespace realizar::cuda {

struct Grid {
  uint32_t x, y;
};

// The order in which a device does what it is given.
using Stream = void*;
// A stream for launches that only bring their kernel's code to the device, and run nothing.
inline char load_only_mark = 0;
inline Stream load_only_stream() {
  return &load_only_mark;
}

inline constexpr uint32_t kMaxGridX = 0x7fffffffu, kMaxGridY = 65535, kMaxBlockThreads = 1024;

// Before every launch, also of the emulator, which would run any grid.
inline void require_launchable(Grid grid, uint32_t n_threads) {
  REQUIRE(grid.x > 0 && grid.x <= kMaxGridX);
  REQUIRE(grid.y > 0 && grid.y <= kMaxGridY);
  REQUIRE(n_threads > 0 && n_threads <= kMaxBlockThreads);
}

}  // namespace realizar::cuda
