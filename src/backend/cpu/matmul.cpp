#include "backend/cpu/matmul.h"

#include <algorithm>
#include <cstring>

#include "base/try.h"

namespace realizar::cpu {

Status PreparedRows::reserve(uint32_t n_rows, uint32_t n_cols) {
  max_rows_ = std::max(max_rows_, n_rows);
  max_cols_ = (std::max(max_cols_, n_cols) + kTileCols - 1) / kTileCols * kTileCols;
  RZ_TRY(rows_, Pages::allocate(n_tile_rows(max_rows_ + 2 * kTileRows) * stride()));
  return {};
}

RowForm prefill_form(const KernelTable& kernels, const PackedMatrix& m) {
  if (m.is_stored()) return RowForm::kSource;
  if (m.has_groups()) return kernels.has_bf16() ? RowForm::kBf16 : RowForm::kInt8;
  const bool is_half = m.is_plain() && m.type != TypeId::kF32;
  const bool splits = kernels.has_bf16() && is_half && m.n_cols % kTileDepth == 0;
  return splits ? RowForm::kSplitBf16 : RowForm::kF32;
}

namespace {

void put_row_tiles(const KernelTable& kernels, const float* values, const PackedMatrix& m, const RowTiles& to,
                   uint32_t row) {
  constexpr size_t kStride = kRowTileBytes / sizeof(uint16_t);
  const bool splits = prefill_form(kernels, m) == RowForm::kSplitBf16;
  for (uint32_t c = 0; c < m.n_cols; c += kTileCols) {
    const uint32_t n = std::min(kTileCols, m.n_cols - c);
    auto *high = reinterpret_cast<uint16_t*>(to.at(row, c)),
         *low = reinterpret_cast<uint16_t*>(to.at(row, c) + to.half_bytes(m.n_cols));
    if (splits) {
      kernels.split_bf16(values + c, n, high, low, kStride);
    } else {
      kernels.to_bf16(values + c, n, high, kStride);
    }
  }
}

}  // namespace

void PreparedRows::prepare(const KernelTable& kernels, const PackedMatrix& m, RowSet set, const float* values,
                           uint32_t row) {
  const bool decode = row < set.n_decode;
  const RowTiles to = tiles(set);
  switch (decode && m.has_groups() ? RowForm::kInt8 : prefill_form(kernels, m)) {
    case RowForm::kSource:
      return;
    case RowForm::kInt8:
      return kernels.quantize(values, m.n_cols, groups(row));
    case RowForm::kF32:
      std::memcpy(wide(row), values, size_t{m.n_cols} * sizeof(float));
      return;
    case RowForm::kBf16:
    case RowForm::kSplitBf16:
      return put_row_tiles(kernels, values, m, to, row - set.n_decode);
  }
}

void multiply_f32(const KernelTable& kernels, const void* tile0, const void* tile1, uint32_t n, const void* const* rows,
                  uint32_t n_rows, float* acc, bool first) {
  const GemmFn gemm = first ? kernels.gemm_f32 : kernels.gemm_f32_chain;
  for (uint32_t i = 0; i < n_rows; i += kernels.gemm_f32_rows) {
    gemm(tile0, tile1, n, rows + i, std::min(kernels.gemm_f32_rows, n_rows - i), acc + size_t{i} * kPairRows, first);
  }
}

void multiply_bf16(const KernelTable& kernels, const Bf16Tiles& tiles, uint32_t n, const void* const* rows,
                   size_t row_low, uint32_t n_rows, float* acc, bool first) {
  for (uint32_t i = 0; i < n_rows; i += kernels.gemm_bf16_rows) {
    kernels.gemm_bf16(tiles, n, rows + i, row_low, std::min(kernels.gemm_bf16_rows, n_rows - i),
                      acc + size_t{i} * kPairRows, first);
  }
}

namespace {

// Rows [0, n_rows) of the list, directly from the panel, in the fewest passes, of even size.
void multiply_dots(const KernelTable& kernels, const PackedMatrix& m, const uint8_t* panel, const Operand& in,
                   const uint32_t* list, uint32_t n_rows, float* acc) {
  const TypeKernels& of_type = kernels_of(kernels, m.type);
  for (uint32_t i = 0, n = 0; i < n_rows; i += n) {
    const uint32_t n_passes = (n_rows - i + kernels.dot_rows - 1) / kernels.dot_rows;
    n = (n_rows - i + n_passes - 1) / n_passes;
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

// multiply_dots from tiles of both panels, which some rows at a time share while they are in cache.
void multiply_int8(const KernelTable& kernels, const PackedMatrix& m, const uint8_t* panel0, const uint8_t* panel1,
                   const Operand& in, const uint32_t* list, uint32_t n_rows, float* acc, std::byte* tile) {
  const TypeKernels& of_type = kernels_of(kernels, m.type);
  std::byte* tile1 = panel1 != nullptr ? tile + kTileBytes / 2 : tile;
  if (of_type.gemm_int8_tiles != nullptr) kernels.configure_tiles(of_type.int8_tile_cols);
  for (uint32_t c = 0; c < m.n_cols; c += kTileCols) {
    const uint32_t n = std::min(kTileCols, m.n_cols - c);
    of_type.unpack_codes(panel0, c, n, tile);
    if (panel1 != nullptr) of_type.unpack_codes(panel1, c, n, tile1);
    for (uint32_t i = 0, n_now = 0; i < n_rows; i += n_now) {
      const bool by_tiles = of_type.gemm_int8_tiles != nullptr && n_rows - i >= kMinInt8TileRows;
      n_now = std::min(by_tiles ? kTileRows : kMaxGemmRows, n_rows - i);
      const ActGroup* rows[kMaxGemmRows];
      for (uint32_t r = 0; r < n_now; ++r) rows[r] = in.prepared->groups(list[i + r]) + c / kGroupCols;
      const GemmInt8Fn gemm = by_tiles ? of_type.gemm_int8_tiles : of_type.gemm_int8;
      gemm(tile, tile1, n, rows, n_now, acc + size_t{i} * kPairRows, c == 0);
    }
  }
  if (of_type.gemm_int8_tiles != nullptr) kernels.configure_tiles(kBf16TileRowBytes);
}

// Decodes columns [col, col + n) of a panel of a stored type to an F32 tile.
void decode_tile(const PackedMatrix& m, const uint8_t* panel, uint32_t col, uint32_t n, float* tile) {
  float values[kTileCols];
  for (uint32_t i = 0; i < kPanelRows; ++i) {
    for (uint32_t c = 0; c < n; c += kTileCols) {
      const uint32_t n_now = std::min(kTileCols, n - c);
      decode_row(m, panel, i, col + c, n_now, values);
      for (uint32_t k = 0; k < n_now; ++k) tile[size_t{c + k} * kPanelRows + i] = values[k];
    }
  }
}

// Unpacks columns [col, col + n) of a panel to an F32 tile.
void unpack_tile(const KernelTable& kernels, const PackedMatrix& m, const uint8_t* panel, uint32_t col, uint32_t n,
                 std::byte* tile) {
  if (m.is_stored()) return decode_tile(m, panel, col, n, reinterpret_cast<float*>(tile));
  kernels_of(kernels, m.type).unpack_f32(panel, col, n, tile);
}

// F32 tiles of both panels, multiplied with some rows at a time, starting at row `first` of the list.
void multiply_tiles(const KernelTable& kernels, const PackedMatrix& m, const uint8_t* panel0, const uint8_t* panel1,
                    const Operand& in, const RowList& list, uint32_t first, float* acc, std::byte* tile) {
  const RowForm form = prefill_form(kernels, m);
  const uint8_t* panels[] = {panel0, panel1 != nullptr ? panel1 : panel0};
  std::byte* tiles[] = {tile, panel1 != nullptr ? tile + kTileBytes / 2 : tile};
  for (uint32_t c = 0; c < m.n_cols; c += kTileCols) {
    const uint32_t n = std::min(kTileCols, m.n_cols - c);
    for (uint32_t p = 0; p < (panel1 != nullptr ? 2u : 1u); ++p) unpack_tile(kernels, m, panels[p], c, n, tiles[p]);
    for (uint32_t i = first; i < list.n_rows; i += kernels.gemm_f32_rows) {
      const uint32_t n_rows = std::min(kernels.gemm_f32_rows, list.n_rows - i);
      const void* rows[kMaxGemmRows];
      for (uint32_t r = 0; r < n_rows; ++r) {
        const uint32_t row = list.rows[i + r];
        rows[r] = form == RowForm::kSource ? static_cast<const void*>(in.source + size_t{row} * m.n_cols + c)
                                           : in.prepared->wide(row) + size_t{c} * sizeof(float);
      }
      kernels.gemm_f32(tiles[0], tiles[1], n, rows, n_rows, acc + size_t{i} * kPairRows, c == 0);
    }
  }
}

bool has_row_tiles(RowForm form) {
  return form == RowForm::kBf16 || form == RowForm::kSplitBf16;
}

// Columns [col, col + n) of the list's prefill rows as row tiles; the second halves are `half` bytes after the first.
struct RowColumns {
  RowTiles tiles;
  size_t half;
};

// Whether the list has all prepared prefill rows in order, so that their tiles can be used as they are.
bool are_all_prefill_rows(const RowList& list, RowSet set) {
  return list.n_rows - list.n_decode == set.n_rows - set.n_decode &&
         std::is_sorted(list.rows + list.n_decode, list.rows + list.n_rows);
}

RowColumns columns_of(const PackedMatrix& m, const Operand& in, const RowList& list, uint32_t col, uint32_t n,
                      uint32_t n_halves, std::byte* gathered) {
  RowTiles all = in.prepared->tiles(in.set);
  const size_t half = all.half_bytes(m.n_cols);
  if (are_all_prefill_rows(list, in.set)) return {{all.at(0, col), all.n_blocks}, half};
  const uint32_t n_rows = list.n_rows - list.n_decode;
  const RowTiles own{reinterpret_cast<uint8_t*>(gathered), n_tile_rows(n_rows) / kTileRows};
  for (uint32_t h = 0; h < n_halves; ++h) {
    for (uint32_t c = 0; c < n; c += kTileDepth) {
      for (uint32_t i = 0; i < n_rows; ++i) {
        const uint32_t row = list.rows[list.n_decode + i] - in.set.n_decode;
        std::memcpy(own.at(i, c) + h * own.half_bytes(n), all.at(row, col + c) + h * half, kRowTileBytes / kTileRows);
      }
    }
  }
  return {own, own.half_bytes(n)};
}

// The list's prefill rows with each pair of the range. These columns of all rows, and the sums, stay in cache.
void multiply_row_tiles(const KernelTable& kernels, const PackedMatrix& m, uint32_t mat, PairRange pairs,
                        const Operand& in, const RowList& list, float* acc, const ProductScratch& scratch) {
  const bool splits = prefill_form(kernels, m) == RowForm::kSplitBf16;
  const bool has_weight_halves = splits && m.type != TypeId::kBF16;
  const UnpackFn unpack = kernels_of(kernels, m.type).unpack_bf16;
  std::byte* tiles[] = {scratch.tile, scratch.tile + kTileBytes / 2};
  for (uint32_t c = 0; c < m.n_cols; c += kTileCols) {
    const uint32_t n = std::min(kTileCols, m.n_cols - c);
    const RowColumns x = columns_of(m, in, list, c, n, splits ? 2 : 1, scratch.gathered);
    for (uint32_t p = 0; p < pairs.n; ++p) {
      const uint32_t panel = 2 * (pairs.first + p);
      const bool is_whole = panel + 1 < m.n_panels();
      unpack(m.panel(mat, panel), c, n, tiles[0]);
      if (is_whole) unpack(m.panel(mat, panel + 1), c, n, tiles[1]);
      const Bf16Tiles weights{tiles[0], is_whole ? tiles[1] : tiles[0],
                              has_weight_halves ? size_t{n} * kPanelRows * sizeof(uint16_t) : 0};
      float* sums = acc + size_t{p} * n_sum_rows(list) * kPairRows;
      for (uint32_t i = list.n_decode; i < list.n_rows; i += 2 * kTileRows) {
        kernels.gemm_row_tiles(weights, n, x.tiles.at(i - list.n_decode, 0), splits ? x.half : 0,
                               sums + size_t{i} * kPairRows, c == 0);
      }
    }
  }
}

// All rows except those of multiply_row_tiles().
void multiply_pair(const KernelTable& kernels, const PackedMatrix& m, uint32_t mat, uint32_t pair, const Operand& in,
                   const RowList& list, float* acc, std::byte* tile) {
  const uint8_t* panel0 = m.panel(mat, 2 * pair);
  const uint8_t* panel1 = 2 * pair + 1 < m.n_panels() ? m.panel(mat, 2 * pair + 1) : nullptr;
  if (m.is_stored()) return multiply_tiles(kernels, m, panel0, panel1, in, list, 0, acc, tile);
  const RowForm form = prefill_form(kernels, m);
  const uint32_t n_same = form == RowForm::kInt8 ? list.n_rows : list.n_decode;  // in decode's form
  if (m.has_groups() && n_same > kernels.direct_rows) {
    multiply_int8(kernels, m, panel0, panel1, in, list.rows, n_same, acc, tile);
  } else {
    multiply_dots(kernels, m, panel0, in, list.rows, n_same, acc);
    if (panel1 != nullptr) multiply_dots(kernels, m, panel1, in, list.rows, n_same, acc + kPanelRows);
  }
  if (list.n_rows > n_same && !has_row_tiles(form)) {
    multiply_tiles(kernels, m, panel0, panel1, in, list, n_same, acc, tile);
  }
}

}  // namespace

void read_row(const KernelTable& kernels, const PackedMatrix& m, uint32_t row, bool add, std::byte* tile, float* out) {
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

size_t ProductScratch::gathered_bytes(const KernelTable& kernels, uint32_t max_rows) {
  return kernels.has_bf16() ? size_t{2} * n_tile_rows(max_rows) * kTileCols * sizeof(uint16_t) : 0;
}

namespace {

// Their sums are 1 MB, which stays in cache.
constexpr uint32_t kMaxSumRows = 8192;

uint32_t n_sum_rows(RowSet rows) {
  return rows.n_decode + n_tile_rows(rows.n_rows - rows.n_decode);
}

}  // namespace

uint32_t n_sum_rows(const RowList& list) {
  return n_sum_rows({list.n_decode, list.n_rows});
}

uint32_t max_sum_rows(const KernelTable& kernels, uint32_t max_rows) {
  return kernels.has_bf16() ? std::max(kMaxSumRows, max_rows + 2 * kTileRows) : max_rows;
}

uint32_t pairs_at_once(const KernelTable& kernels, const PackedMatrix& m, RowSet rows, uint32_t n_members) {
  constexpr uint32_t kMaxPairs = 8, kItemsEach = 2;  // items per thread, so that threads finish at about the same time
  if (!has_row_tiles(prefill_form(kernels, m)) || rows.n_rows == rows.n_decode) return 1;
  const uint32_t n_even = n_pairs(m) / (kItemsEach * n_members);
  return std::clamp(std::min(kMaxSumRows / n_sum_rows(rows), n_even), 1u, kMaxPairs);
}

void multiply_pairs(const KernelTable& kernels, const PackedMatrix& m, uint32_t mat, PairRange pairs, const Operand& in,
                    const RowList& list, float* acc, const ProductScratch& scratch) {
  for (uint32_t p = 0; p < pairs.n; ++p) {
    multiply_pair(kernels, m, mat, pairs.first + p, in, list, acc + size_t{p} * n_sum_rows(list) * kPairRows,
                  scratch.tile);
  }
  if (list.n_rows > list.n_decode && has_row_tiles(prefill_form(kernels, m))) {
    multiply_row_tiles(kernels, m, mat, pairs, in, list, acc, scratch);
  }
}

}  // namespace realizar::cpu
