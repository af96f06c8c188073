// AVX2 as in avx2.cpp, and the int8 dot products of processors that have AVX-VNNI but no AVX-512.
#include <immintrin.h>

#define RZ_AVX_VNNI

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels.h"

namespace realizar::cpu {
namespace {
// Each file needs the ones before it.
// clang-format off
#include "backend/cpu/isa/panel_layout.inl"
#include "backend/cpu/isa/vec_avx2.inl"
#include "backend/cpu/isa/kernels.inl"
// clang-format on
}  // namespace

void put_avx_vnni(KernelTable& table) {
  put_int8_kernels(table);
}

}  // namespace realizar::cpu
