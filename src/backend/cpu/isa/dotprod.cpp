// NEON with the byte dot products of Armv8.2 (FEAT_DotProd).
#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels.h"

namespace realizar::cpu {
namespace {
// Order matters: each file depends on the ones before it.
// clang-format off
#include "backend/cpu/isa/panel_layout.inl"
#include "backend/cpu/isa/vec_neon.inl"
#include "backend/cpu/isa/kernels.inl"
// clang-format on
}  // namespace

void put_dotprod(KernelTable& table) {
  put_int8_kernels(table);
}

}  // namespace realizar::cpu
