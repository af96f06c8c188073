#include "backend/cpu/matmul.h"

#include <algorithm>
#include <cstring>

namespace realizar {

Status PreparedRows::reserve(uint32_t n_rows, uint32_t n_cols) {
  max_rows_ = std::max(max_rows_, n_rows);
  max_cols_ = (std::max(max_cols_, n_cols) + kGroupCols - 1) / kGroupCols * kGroupCols;
  const size_t n = max_rows_;
  RZ_TRY(quants_, Pages::allocate(n * max_cols_));
  RZ_TRY(groups_, Pages::allocate(n * max_cols_ / kGroupCols * sizeof(ActGroup)));
  RZ_TRY(wide_, Pages::allocate(n * wide_stride()));
  return {};
}

void PreparedRows::prepare_decode(const KernelTable& kernels, const float* values, uint32_t n_cols, uint32_t row) {
  kernels.quantize(values, n_cols, quants(row), groups(row));
}

void PreparedRows::prepare_prefill(const KernelTable& kernels, bool bf16, const float* values, uint32_t n_cols,
                                   uint32_t row) {
  if (bf16) {
    kernels.to_bf16(values, n_cols, reinterpret_cast<uint16_t*>(wide(row)));
  } else {
    std::memcpy(wide(row), values, size_t{n_cols} * sizeof(float));
  }
}

namespace {

void multiply_decode(const KernelTable& kernels, const PanelMatrix& m, const uint8_t* panel, const Operand& in,
                     const RowList& list, float* acc) {
  for (uint32_t i = 0; i < list.n_decode; i += kMaxDecodeRows) {
    const uint32_t n = std::min(kMaxDecodeRows, list.n_decode - i);
    ActRow rows[kMaxDecodeRows];
    float y[kMaxDecodeRows * kPanelRows];
    for (uint32_t r = 0; r < n; ++r) {
      const uint32_t row = list.rows[i + r];
      rows[r] = {in.source + size_t{row} * m.n_cols, in.prepared->quants(row), in.prepared->groups(row)};
    }
    kernels.dot[static_cast<int>(m.kind)](panel, m.n_cols, rows, n, y);
    for (uint32_t r = 0; r < n; ++r) std::copy_n(y + r * kPanelRows, kPanelRows, acc + size_t{i + r} * kPairRows);
  }
}

void multiply_prefill(const KernelTable& kernels, const PanelMatrix& m, const uint8_t* panel0, const uint8_t* panel1,
                      const Operand& in, const RowList& list, float* acc, std::byte* tile) {
  const bool bf16 = kernels.bf16 && !m.is_plain();
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
  multiply_decode(kernels, m, panel0, in, list, acc);
  if (panel1 != nullptr) multiply_decode(kernels, m, panel1, in, list, acc + kPanelRows);
  if (list.n_rows > list.n_decode) multiply_prefill(kernels, m, panel0, panel1, in, list, acc, tile);
}

}  // namespace realizar
