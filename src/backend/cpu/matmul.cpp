#include "backend/cpu/matmul.h"

#include <algorithm>
#include <cstring>

namespace realizar {

Status PreparedRows::reserve(uint32_t n_rows, uint32_t n_cols) {
  max_rows_ = std::max(max_rows_, n_rows);
  max_cols_ = (std::max(max_cols_, n_cols) + kGroupCols - 1) / kGroupCols * kGroupCols;
  RZ_TRY(rows_, Pages::allocate(max_rows_ * stride()));
  return {};
}

void PreparedRows::prepare(const KernelTable& kernels, const PanelMatrix& m, bool decode, const float* values,
                           uint32_t row) {
  if (m.is_plain()) {
    std::memcpy(wide(row), values, size_t{m.n_cols} * sizeof(float));
  } else if (kernels.bf16 && !decode) {
    kernels.to_bf16(values, m.n_cols, reinterpret_cast<uint16_t*>(wide(row)));
  } else {
    kernels.quantize(values, m.n_cols, groups(row));
  }
}

namespace {

// Rows [0, n_rows) of the list, straight from the packed panel.
void multiply_dots(const KernelTable& kernels, const PanelMatrix& m, const uint8_t* panel, const Operand& in,
                   const uint32_t* list, uint32_t n_rows, float* acc) {
  for (uint32_t i = 0; i < n_rows; i += kMaxDotRows) {
    const uint32_t n = std::min(kMaxDotRows, n_rows - i);
    ActRow rows[kMaxDotRows];
    float y[kMaxDotRows * kPanelRows];
    for (uint32_t r = 0; r < n; ++r) {
      const uint32_t row = list[i + r];
      rows[r] = {in.source + size_t{row} * m.n_cols, in.prepared->groups(row)};
    }
    kernels.dot[static_cast<int>(m.kind)](panel, m.n_cols, rows, n, y);
    for (uint32_t r = 0; r < n; ++r) std::copy_n(y + r * kPanelRows, kPanelRows, acc + size_t{i + r} * kPairRows);
  }
}

// The same from tiles of both panels, which some rows at a time share while they are near.
void multiply_int8(const KernelTable& kernels, const PanelMatrix& m, const uint8_t* panel0, const uint8_t* panel1,
                   const Operand& in, const uint32_t* list, uint32_t n_rows, float* acc, std::byte* tile) {
  const auto kind = static_cast<int>(m.kind);
  std::byte* tile1 = tile + kTileBytes / 2;
  for (uint32_t c = 0; c < m.n_cols; c += kTileCols) {
    const uint32_t n = std::min(kTileCols, m.n_cols - c);
    kernels.spread[kind](panel0, c, n, tile);
    if (panel1 != nullptr) kernels.spread[kind](panel1, c, n, tile1);
    for (uint32_t i = 0; i < n_rows; i += kMaxGemmRows) {
      const uint32_t n_now = std::min(kMaxGemmRows, n_rows - i);
      const ActGroup* rows[kMaxGemmRows];
      for (uint32_t r = 0; r < n_now; ++r) rows[r] = in.prepared->groups(list[i + r]) + c / kGroupCols;
      float* sums = acc + size_t{i} * kPairRows;
      kernels.gemm_int8[kind](tile, n, rows, n_now, sums, c == 0);
      if (panel1 != nullptr) kernels.gemm_int8[kind](tile1, n, rows, n_now, sums + kPanelRows, c == 0);
    }
  }
}

void multiply_tiles(const KernelTable& kernels, const PanelMatrix& m, const uint8_t* panel0, const uint8_t* panel1,
                    const Operand& in, const RowList& list, float* acc, std::byte* tile) {
  const bool bf16 = multiplies_bf16(kernels, m);
  const auto unpack = (bf16 ? kernels.unpack_bf16 : kernels.unpack_f32)[static_cast<int>(m.kind)];
  const GemmFn gemm = bf16 ? kernels.gemm_bf16 : kernels.gemm_f32;
  const uint32_t rows_at_once = bf16 ? kernels.gemm_bf16_rows : kernels.gemm_f32_rows;
  const uint32_t chunk = bf16 ? 512 : 256, element = bf16 ? 2 : 4;
  for (uint32_t c = 0; c < m.n_cols; c += chunk) {
    const uint32_t n = std::min(chunk, m.n_cols - c);
    unpack(panel0, c, n, tile);
    if (panel1 != nullptr) unpack(panel1, c, n, tile + kTileBytes / 2);
    const std::byte* tile1 = panel1 != nullptr ? tile + kTileBytes / 2 : tile;
    for (uint32_t i = list.n_decode; i < list.n_rows; i += rows_at_once) {
      const uint32_t n_rows = std::min(rows_at_once, list.n_rows - i);
      const void* rows[kMaxGemmRows];
      for (uint32_t r = 0; r < n_rows; ++r) {
        rows[r] = in.prepared->wide(list.rows[i + r]) + size_t{c} * element;
      }
      gemm(tile, tile1, n, rows, n_rows, acc + size_t{i} * kPairRows, c == 0);
    }
  }
}

}  // namespace

void multiply_pair(const KernelTable& kernels, const PanelMatrix& m, uint32_t mat, uint32_t pair, const Operand& in,
                   const RowList& list, float* acc, std::byte* tile) {
  const uint8_t* panel0 = m.panel(mat, 2 * pair);
  const uint8_t* panel1 = 2 * pair + 1 < m.n_panels() ? m.panel(mat, 2 * pair + 1) : nullptr;
  const uint32_t n_same = m.is_plain() || kernels.bf16 ? list.n_decode : list.n_rows;  // in decode's arithmetic
  if (!m.is_plain() && n_same > kMaxDotRows) {
    multiply_int8(kernels, m, panel0, panel1, in, list.rows, n_same, acc, tile);
  } else {
    multiply_dots(kernels, m, panel0, in, list.rows, n_same, acc);
    if (panel1 != nullptr) multiply_dots(kernels, m, panel1, in, list.rows, n_same, acc + kPanelRows);
  }
  if (list.n_rows > n_same) multiply_tiles(kernels, m, panel0, panel1, in, list, acc, tile);
}

}  // namespace realizar
