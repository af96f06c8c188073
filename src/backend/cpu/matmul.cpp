#include "backend/cpu/matmul.h"

#include <algorithm>
#include <cstring>

#include "base/try.h"

namespace realizar::cpu {

Status PreparedRows::reserve(uint32_t n_rows, uint32_t n_cols) {
  max_rows_ = std::max(max_rows_, n_rows);
  max_cols_ = (std::max(max_cols_, n_cols) + kGroupCols - 1) / kGroupCols * kGroupCols;
  RZ_TRY(rows_, Pages::allocate(max_rows_ * stride()));
  return {};
}

RowForm prefill_form(const KernelTable& kernels, const PanelMatrix& m) {
  if (m.is_stored()) return RowForm::kSource;
  if (m.has_groups()) return kernels.has_bf16() ? RowForm::kBf16 : RowForm::kInt8;
  const bool is_half = m.is_plain() && m.type != TypeId::kF32;
  const bool splits = kernels.has_bf16() && is_half && m.n_cols % kTileDepth == 0;
  return splits ? RowForm::kSplitBf16 : RowForm::kF32;
}

void PreparedRows::prepare(const KernelTable& kernels, const PanelMatrix& m, bool decode, const float* values,
                           uint32_t row) {
  switch (decode && m.has_groups() ? RowForm::kInt8 : prefill_form(kernels, m)) {
    case RowForm::kSource:
      return;
    case RowForm::kInt8:
      return kernels.quantize(values, m.n_cols, groups(row));
    case RowForm::kF32:
      std::memcpy(wide(row), values, size_t{m.n_cols} * sizeof(float));
      return;
    case RowForm::kBf16:
      return kernels.to_bf16(values, m.n_cols, reinterpret_cast<uint16_t*>(wide(row)));
    case RowForm::kSplitBf16: {
      auto* high = reinterpret_cast<uint16_t*>(wide(row));
      return kernels.split_bf16(values, m.n_cols, high, high + m.n_cols);
    }
  }
}

void multiply_f32(const KernelTable& kernels, const void* tile0, const void* tile1, uint32_t n, const void* const* rows,
                  uint32_t n_rows, float* acc, bool first) {
  const GemmFn gemm = first ? kernels.gemm_f32 : kernels.gemm_f32_chain;
  for (uint32_t i = 0; i < n_rows; i += kernels.gemm_f32_rows) {
    gemm(tile0, tile1, n, rows + i, std::min(kernels.gemm_f32_rows, n_rows - i), acc + size_t{i} * kPairRows, first);
  }
}

void multiply_split(const KernelTable& kernels, const uint16_t* tile0, const uint16_t* tile1, bool exact, uint32_t n,
                    const void* const* rows, size_t half, uint32_t n_rows, float* acc, bool first) {
  const size_t tile_half = size_t{n} * kPanelRows;
  for (uint32_t i = 0; i < n_rows; i += kernels.gemm_bf16_rows) {
    const uint32_t n_now = std::min(kernels.gemm_bf16_rows, n_rows - i);
    const void* low[kMaxGemmRows];
    for (uint32_t r = 0; r < n_now; ++r) low[r] = static_cast<const uint16_t*>(rows[i + r]) + half;
    float* sums = acc + size_t{i} * kPairRows;
    kernels.gemm_bf16(tile0, tile1, n, rows + i, n_now, sums, first);
    kernels.gemm_bf16(tile0, tile1, n, low, n_now, sums, false);
    if (!exact) kernels.gemm_bf16(tile0 + tile_half, tile1 + tile_half, n, rows + i, n_now, sums, false);
  }
}

namespace {

// Rows [0, n_rows) of the list, straight from the panel.
void multiply_dots(const KernelTable& kernels, const PanelMatrix& m, const uint8_t* panel, const Operand& in,
                   const uint32_t* list, uint32_t n_rows, float* acc) {
  const TypeKernels& of_type = kernels_of(kernels, m.type);
  for (uint32_t i = 0; i < n_rows; i += kMaxDotRows) {
    const uint32_t n = std::min(kMaxDotRows, n_rows - i);
    float y[kMaxDotRows * kPanelRows];
    if (m.has_groups()) {
      const ActGroup* rows[kMaxDotRows];
      for (uint32_t r = 0; r < n; ++r) rows[r] = in.prepared->groups(list[i + r]);
      of_type.dot(panel, m.n_cols, rows, n, y);
    } else {
      const float* rows[kMaxDotRows];
      for (uint32_t r = 0; r < n; ++r) rows[r] = in.source + size_t{list[i + r]} * m.n_cols;
      of_type.dot_plain(panel, m.n_cols, rows, n, y);
    }
    for (uint32_t r = 0; r < n; ++r) std::copy_n(y + r * kPanelRows, kPanelRows, acc + size_t{i + r} * kPairRows);
  }
}

// The same from tiles of both panels, which some rows at a time share while they are near.
void multiply_int8(const KernelTable& kernels, const PanelMatrix& m, const uint8_t* panel0, const uint8_t* panel1,
                   const Operand& in, const uint32_t* list, uint32_t n_rows, float* acc, std::byte* tile) {
  const TypeKernels& of_type = kernels_of(kernels, m.type);
  std::byte* tile1 = tile + kTileBytes / 2;
  for (uint32_t c = 0; c < m.n_cols; c += kTileCols) {
    const uint32_t n = std::min(kTileCols, m.n_cols - c);
    of_type.unpack_codes(panel0, c, n, tile);
    if (panel1 != nullptr) of_type.unpack_codes(panel1, c, n, tile1);
    for (uint32_t i = 0; i < n_rows; i += kMaxGemmRows) {
      const uint32_t n_now = std::min(kMaxGemmRows, n_rows - i);
      const ActGroup* rows[kMaxGemmRows];
      for (uint32_t r = 0; r < n_now; ++r) rows[r] = in.prepared->groups(list[i + r]) + c / kGroupCols;
      float* sums = acc + size_t{i} * kPairRows;
      of_type.gemm_int8(tile, n, rows, n_now, sums, c == 0);
      if (panel1 != nullptr) of_type.gemm_int8(tile1, n, rows, n_now, sums + kPanelRows, c == 0);
    }
  }
}

// Columns [col, col + n) of a panel of a stored type as an F32 tile.
void decode_tile(const PanelMatrix& m, const uint8_t* panel, uint32_t col, uint32_t n, float* tile) {
  float values[kTileCols];
  for (uint32_t i = 0; i < kPanelRows; ++i) {
    for (uint32_t c = 0; c < n; c += kTileCols) {
      const uint32_t n_now = std::min(kTileCols, n - c);
      decode_row(m, panel, i, col + c, n_now, values);
      for (uint32_t k = 0; k < n_now; ++k) tile[size_t{c + k} * kPanelRows + i] = values[k];
    }
  }
}

// Columns [col, col + n) of a panel in the form that goes with the rows'.
void unpack_tile(const KernelTable& kernels, const PanelMatrix& m, RowForm form, const uint8_t* panel, uint32_t col,
                 uint32_t n, std::byte* tile) {
  if (m.is_stored()) return decode_tile(m, panel, col, n, reinterpret_cast<float*>(tile));
  const TypeKernels& of_type = kernels_of(kernels, m.type);
  if (form == RowForm::kBf16) return of_type.unpack_bf16(panel, col, n, tile);
  if (form == RowForm::kF32) return of_type.unpack_f32(panel, col, n, tile);
  constexpr uint32_t kAtOnce = 32;
  float wide[kAtOnce * kPanelRows];
  auto *high = reinterpret_cast<uint16_t*>(tile), *low = high + size_t{n} * kPanelRows;
  for (uint32_t c = 0; c < n; c += kAtOnce) {
    of_type.unpack_f32(panel, col + c, kAtOnce, wide);
    kernels.split_tile(wide, kAtOnce, high + size_t{c} * kPanelRows, low + size_t{c} * kPanelRows);
  }
}

// Tiles of both panels, multiplied with some rows at a time, from row `first` of the list on.
void multiply_tiles(const KernelTable& kernels, const PanelMatrix& m, const uint8_t* panel0, const uint8_t* panel1,
                    const Operand& in, const RowList& list, uint32_t first, float* acc, std::byte* tile) {
  const RowForm form = prefill_form(kernels, m);
  const bool is_source = form == RowForm::kSource, is_bf16 = form == RowForm::kBf16;
  const bool is_f32 = form == RowForm::kF32 || is_source;
  const uint32_t chunk = is_bf16 ? 512 : 256, element = is_f32 ? 4 : 2;
  const uint32_t rows_at_once = is_f32 ? kernels.gemm_f32_rows : kernels.gemm_bf16_rows;
  const auto half = [](std::byte* at) { return reinterpret_cast<const uint16_t*>(at); };
  const uint8_t* panels[] = {panel0, panel1 != nullptr ? panel1 : panel0};
  std::byte* tiles[] = {tile, panel1 != nullptr ? tile + kTileBytes / 2 : tile};
  for (uint32_t c = 0; c < m.n_cols; c += chunk) {
    const uint32_t n = std::min(chunk, m.n_cols - c);
    for (uint32_t p = 0; p < (panel1 != nullptr ? 2u : 1u); ++p)
      unpack_tile(kernels, m, form, panels[p], c, n, tiles[p]);
    for (uint32_t i = first; i < list.n_rows; i += rows_at_once) {
      const uint32_t n_rows = std::min(rows_at_once, list.n_rows - i);
      const void* rows[kMaxGemmRows];
      for (uint32_t r = 0; r < n_rows; ++r) {
        const uint32_t row = list.rows[i + r];
        rows[r] = is_source ? static_cast<const void*>(in.source + size_t{row} * m.n_cols + c)
                            : in.prepared->wide(row) + size_t{c} * element;
      }
      float* sums = acc + size_t{i} * kPairRows;
      if (form == RowForm::kSplitBf16) {
        multiply_split(kernels, half(tiles[0]), half(tiles[1]), m.type == TypeId::kBF16, n, rows, m.n_cols, n_rows,
                       sums, c == 0);
      } else {
        (is_bf16 ? kernels.gemm_bf16 : kernels.gemm_f32)(tiles[0], tiles[1], n, rows, n_rows, sums, c == 0);
      }
    }
  }
}

}  // namespace

void read_row(const KernelTable& kernels, const PanelMatrix& m, uint32_t row, bool add, std::byte* tile, float* out) {
  const uint8_t* panel = m.panel(0, row / kPanelRows);
  const uint32_t stride = m.is_stored() ? 1 : kPanelRows;
  constexpr uint32_t kChunk = kTileBytes / (kPanelRows * sizeof(float));
  for (uint32_t c = 0; c < m.n_cols; c += kChunk) {
    const uint32_t n = std::min(kChunk, m.n_cols - c);
    auto* values = reinterpret_cast<float*>(tile);
    if (m.is_stored()) {
      decode_row(m, panel, row % kPanelRows, c, n, values);
    } else {
      kernels_of(kernels, m.type).unpack_f32(panel, c, n, tile);
      values += row % kPanelRows;
    }
    for (uint32_t i = 0; i < n; ++i) {
      const float value = values[size_t{i} * stride];
      out[c + i] = add ? out[c + i] + value : value;
    }
  }
}

void multiply_pair(const KernelTable& kernels, const PanelMatrix& m, uint32_t mat, uint32_t pair, const Operand& in,
                   const RowList& list, float* acc, std::byte* tile) {
  const uint8_t* panel0 = m.panel(mat, 2 * pair);
  const uint8_t* panel1 = 2 * pair + 1 < m.n_panels() ? m.panel(mat, 2 * pair + 1) : nullptr;
  if (m.is_stored()) return multiply_tiles(kernels, m, panel0, panel1, in, list, 0, acc, tile);
  const bool same = prefill_form(kernels, m) == RowForm::kInt8;  // all rows are in decode's form
  const uint32_t n_same = same ? list.n_rows : list.n_decode;
  if (m.has_groups() && n_same > kMaxDotRows) {
    multiply_int8(kernels, m, panel0, panel1, in, list.rows, n_same, acc, tile);
  } else {
    multiply_dots(kernels, m, panel0, in, list.rows, n_same, acc);
    if (panel1 != nullptr) multiply_dots(kernels, m, panel1, in, list.rows, n_same, acc + kPanelRows);
  }
  if (list.n_rows > n_same) multiply_tiles(kernels, m, panel0, panel1, in, list, n_same, acc, tile);
}

}  // namespace realizar::cpu
