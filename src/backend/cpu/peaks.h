// Peak bandwidth and arithmetic of this machine, measured now: the limits that speeds are compared with.
#pragma once

#include <algorithm>
#include <cstdint>

namespace realizar::cpu {

struct Peaks {
  double read_gb_per_s = 0;     // streaming reads from memory, far beyond the caches
  double fma_gflop_per_s = 0;   // F32 fused multiply-add, two operations each
  double bf16_gflop_per_s = 0;  // AMX bf16 products; 0 if unsupported
  double int8_gop_per_s = 0;    // int8 dot products

  double best_gflops() const { return std::max({fma_gflop_per_s, bf16_gflop_per_s, int8_gop_per_s}); }
};

// Takes about half a second. n_threads 0: one per core that the process may use.
Peaks measure_peaks(uint32_t n_threads);

}  // namespace realizar::cpu
