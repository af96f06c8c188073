// AVX-512 as in avx512.cpp, and BF16 dot products for prefill.
#include <immintrin.h>

#define RZ_BF16

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels.h"

namespace realizar {
namespace {
// Each file needs the ones before it.
// clang-format off
#include "backend/cpu/isa/panel_layout.inl"
#include "backend/cpu/isa/vec_avx512.inl"
#include "backend/cpu/isa/kernels.inl"
// clang-format on
}  // namespace

extern const KernelTable kAvx512Bf16Kernels = make_table("AVX-512 VNNI BF16");

}  // namespace realizar
