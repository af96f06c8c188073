// The instruction sets that this processor and its operating system offer, and the number of cores for this process.
#pragma once

#include <cstdint>

namespace realizar {

struct CpuFeatures {
  bool avx2 = false;      // with FMA and F16C
  bool avx_vnni = false;  // in addition to avx2
  bool avx512 = false;    // F, BW, VL, DQ and VNNI
  bool dotprod = false;   // FEAT_DotProd of Arm
  bool i8mm = false;      // FEAT_I8MM of Arm, in addition to dotprod
  bool amx = false;       // tiles, their BF16 and int8 products, in addition to avx512 with BF16
};

// Linux enables AMX's tile registers only on request; this call requests them for the whole process.
CpuFeatures cpu_features();
// Cores in this process's affinity mask; at least 1.
uint32_t n_usable_cores();

}  // namespace realizar
