// AVX2 as in avx2.cpp, plus the int8 dot products of processors with AVX-VNNI but without AVX-512.
#include <immintrin.h>

#define RZ_AVX_VNNI

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels.h"

namespace realizar::cpu {
namespace {
// Order matters: each file depends on the ones before it.
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
