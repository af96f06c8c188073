// AVX-512 as in avx512.cpp, plus AMX tiles: BF16 products for prefill, int8 ones for batches of decode rows.
#include <immintrin.h>

#define RZ_BF16

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

// Palette 1 (Intel SDM, LDTILECFG): eight registers of at most 16 rows of 64 bytes. Activations, in 4 and 5, have rows
// of row_bytes; weights, in 6 and 7, one row per 4 of these bytes. The configuration persists per thread. The operand
// is the whole struct: GCC 12's intrinsic names only its first 8 bytes, so the other writes could be omitted.
inline void tile_configure(uint32_t row_bytes) {
  struct alignas(64) Config {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t n_rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  static_assert(sizeof(Config) == 64);
  Config config;
  config.row_bytes[4] = config.row_bytes[5] = static_cast<uint16_t>(row_bytes);
  config.n_rows[6] = config.n_rows[7] = static_cast<uint8_t>(row_bytes / 4);
  asm volatile("ldtilecfg %0" ::"m"(config));
}
// GCC's intrinsics take register numbers as text only, not as template arguments.
template <int kTile>
inline void tile_zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
template <int kTile>
inline void tile_load(const void* from, size_t stride) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(kTile), "r"(from), "r"(stride) : "memory");
}
template <int kTile>
inline void tile_store(void* to, size_t stride) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(kTile), "r"(to), "r"(stride) : "memory");
}
template <int kSums, int kRows, int kWeights>
inline void tile_dot() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kRows), "i"(kWeights));
}
// Signed activations times unsigned codes.
template <int kSums, int kRows, int kWeights>
inline void tile_dot_int8() {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kRows), "i"(kWeights));
}

// clang-format off
#include "backend/cpu/isa/gemm_amx.inl"
#include "backend/cpu/isa/int8_tiles.inl"
#include "backend/cpu/isa/amx_table.inl"
// clang-format on

}  // namespace

void put_amx(KernelTable& table) {
  put_tile_kernels(table);
}

}  // namespace realizar::cpu
