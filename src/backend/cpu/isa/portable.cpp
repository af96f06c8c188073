// The baseline that every processor of the architecture runs.
#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels.h"

#define RZ_LANES_ARE_ARRAYS

namespace realizar::cpu {
namespace {
// Order matters: each file depends on the ones before it.
// clang-format off
#include "backend/cpu/isa/panel_layout.inl"
#include "backend/cpu/isa/vec_portable.inl"
#include "backend/cpu/isa/kernels.inl"
// clang-format on
}  // namespace

template <>
void put_portable<RZ_PART>(KernelTable& table) {
  put_part<RZ_PART>(table);
}

}  // namespace realizar::cpu
