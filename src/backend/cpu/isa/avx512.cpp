// AVX-512 F, BW, VL, DQ and VNNI.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels.h"

namespace realizar::cpu {
namespace {
// Order matters: each file depends on the ones before it.
// clang-format off
#include "backend/cpu/isa/panel_layout.inl"
#include "backend/cpu/isa/vec_avx512.inl"
#include "backend/cpu/isa/kernels.inl"
// clang-format on
}  // namespace

template <>
void put_avx512<RZ_PART>(KernelTable& table) {
  put_part<RZ_PART>(table);
}

}  // namespace realizar::cpu
