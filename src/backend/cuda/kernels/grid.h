// The grid of a launch, and CUDA's limits. Dimensions that grow with a step's rows belong in x.
#pragma once

#include <cstdint>

#include "base/check.h"

namespace realizar::cuda {

struct Grid {
  uint32_t x, y;
};

// An ordered queue of a device's work.
using Stream = void*;
// A stream for launches that only load their kernel's code to the device and run nothing.
inline char load_only_mark = 0;
inline Stream load_only_stream() {
  return &load_only_mark;
}

inline constexpr uint32_t kMaxGridX = 0x7fffffffu, kMaxGridY = 65535, kMaxBlockThreads = 1024;

// Checked before every launch, also by the emulator, which would run any grid.
inline void require_launchable(Grid grid, uint32_t n_threads) {
  REQUIRE(grid.x > 0 && grid.x <= kMaxGridX);
  REQUIRE(grid.y > 0 && grid.y <= kMaxGridY);
  REQUIRE(n_threads > 0 && n_threads <= kMaxBlockThreads);
}

}  // namespace realizar::cuda
