// AVX2, FMA and F16C.
#include <immintrin.h>

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

extern const KernelTable kAvx2Kernels = make_table("AVX2", "x86 FMA, int8");

}  // namespace realizar::cpu
