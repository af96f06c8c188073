// The AMX level with emulated tile registers: everything else, including the creation of tiles, is the code for AMX
// machines.
#include <immintrin.h>

#define RZ_BF16

#include <cstddef>
#include <cstdint>

#include "support/emulated_amx.h"

namespace realizar::cpu {
namespace {
// Each file needs the ones before it.
// clang-format off
#include "backend/cpu/isa/panel_layout.inl"
#include "backend/cpu/isa/vec_avx512.inl"
#include "backend/cpu/isa/kernels.inl"
#include "backend/cpu/emulated_tiles.inl"
#include "backend/cpu/isa/gemm_amx.inl"
#include "backend/cpu/isa/int8_tiles.inl"
#include "backend/cpu/isa/amx_table.inl"
// clang-format on
}  // namespace

void put_emulated_amx(KernelTable& table) {
  put_tile_kernels(table);
}

}  // namespace realizar::cpu
