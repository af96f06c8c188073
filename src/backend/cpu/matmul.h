// Products of a packed matrix with rows of activations, two panels (32 outputs) at a time. Group types: int8 dot
// products, directly from the packed panel for few rows, from a tile that is unpacked once for more; prefill rows as
// bf16 if the processor has tiles for it. Plain types: F32, or with tiles sums of bf16 halves. Stored types: F32 for
// all rows, from decoded tiles, so that decode and prefill rows have the same bits.
#pragma once

#include <vector>

#include "backend/cpu/packed_matrix.h"

namespace realizar::cpu {

inline constexpr uint32_t kPairRows = 2 * kPanelRows;

// Rows that are prepared together, decode rows first.
struct RowSet {
  uint32_t n_decode, n_rows;
};

// Rows in the tiles of n rows: bf16 products take 32 at a time.
inline uint32_t n_tile_rows(uint32_t n) {
  return (n + 2 * kTileRows - 1) / (2 * kTileRows) * (2 * kTileRows);
}

// Rows of bf16 values as row tiles (GemmRowTilesFn): kTileCols columns of all rows, by kTileRows, then the next ones.
struct RowTiles {
  uint8_t* data;
  uint32_t n_blocks;

  size_t stride() const { return n_blocks * kRowBlockBytes; }  // from one set of columns to the next
  uint8_t* at(uint32_t row, uint32_t col) const {
    return data + col / kTileCols * stride() + row / kTileRows * kRowBlockBytes +
           col % kTileCols / kTileDepth * kRowTileBytes + row % kTileRows * (kRowTileBytes / kTileRows);
  }
  // Offset of the second halves of split values, whose tiles follow those of n_cols columns.
  size_t half_bytes(uint32_t n_cols) const { return (n_cols + kTileCols - 1) / kTileCols * stride(); }
};

// The activations of one operation in the forms that kernels read, prepared row by row by any thread. Rows keep their
// index from the F32 source.
class PreparedRows {
 public:
  Status reserve(uint32_t n_rows, uint32_t n_cols);  // grows; contents are lost
  bool fits(uint32_t n_rows, uint32_t n_cols) const { return n_rows <= max_rows_ && n_cols <= max_cols_; }
  // Converts `values`, row `row` of `set`, to the form for products with `m`.
  void prepare(const KernelTable& kernels, const PackedMatrix& m, RowSet set, const float* values, uint32_t row);

  ActGroup* groups(uint32_t row) const { return reinterpret_cast<ActGroup*>(at(row)); }
  uint8_t* wide(uint32_t row) const { return at(row); }
  // The prefill rows of `set`, after its decode rows.
  RowTiles tiles(RowSet set) const { return {at(set.n_decode), n_tile_rows(set.n_rows - set.n_decode) / kTileRows}; }
  size_t n_bytes() const { return rows_.size(); }

 private:
  // One cache line more than the widest form, so that rows map to different cache sets.
  size_t stride() const { return size_t{max_cols_} * sizeof(float) + 64; }
  uint8_t* at(uint32_t row) const { return rows_.as<uint8_t>() + row * stride(); }

  uint32_t max_rows_ = 0, max_cols_ = 0;
  Pages rows_;
};

// The rows of one product: indices into `source` and its prepared forms, decode rows first.
struct RowList {
  const uint32_t* rows;
  uint32_t n_decode, n_rows;
};

// The input of a product: F32 [.., n_cols], and the same rows prepared.
struct Operand {
  const float* source;
  const PreparedRows* prepared;
  RowSet set;
};

inline uint32_t n_pairs(const PackedMatrix& m) {
  return (m.n_panels() + 1) / 2;
}

// The form of prefill rows in a product; decode rows are int8 for group types, F32 for others.
enum class RowForm : uint8_t {
  kSource,  // F32, not prepared
  kInt8,
  kF32,
  kBf16,       // row tiles
  kSplitBf16,  // two of them: the values as bf16, and the rounding errors
};
RowForm prefill_form(const KernelTable& kernels, const PackedMatrix& m);

// GemmFn for any number of rows in F32: gemm_f32 if `first`, else gemm_f32_chain.
void multiply_f32(const KernelTable& kernels, const void* tile0, const void* tile1, uint32_t n, const void* const* rows,
                  uint32_t n_rows, float* acc, bool first);
// GemmBf16Fn for any number of rows.
void multiply_bf16(const KernelTable& kernels, const Bf16Tiles& tiles, uint32_t n, const void* const* rows,
                   size_t row_low, uint32_t n_rows, float* acc, bool first);

// One row of a matrix as F32; added to `out` where `add`. `tile` is kTileBytes of scratch.
void read_row(const KernelTable& kernels, const PackedMatrix& m, uint32_t row, bool add, std::byte* tile, float* out);

// Two tiles of kTileCols columns each: F32, split, or CodeTiles.
inline constexpr size_t kTileBytes = size_t{2} * kPanelRows * kTileCols * sizeof(float);

// Pairs of panels that are multiplied together.
struct PairRange {
  uint32_t first, n;
};

// A thread's work memory for products.
struct ProductScratch {
  std::byte* tile;      // kTileBytes
  std::byte* gathered;  // gathered_bytes(): row tiles of scattered rows

  // For products of up to max_rows rows.
  static size_t gathered_bytes(const KernelTable& kernels, uint32_t max_rows);
};

// The best number of pairs per call for one of n_members threads: with row tiles, some columns of all rows stay in
// cache while several pairs use them.
uint32_t pairs_at_once(const KernelTable& kernels, const PackedMatrix& m, RowSet rows, uint32_t n_members);
// Rows of 32 sums per pair; pairs_at_once() pairs have at most max_sum_rows(max_rows).
uint32_t n_sum_rows(const RowList& list);
uint32_t max_sum_rows(const KernelTable& kernels, uint32_t max_rows);

// For pair p of the range: acc[(p * n_sum_rows(list) + i) * 32 + j] = row 32 * pair + j of matrix `mat` . rows[i].
void multiply_pairs(const KernelTable& kernels, const PackedMatrix& m, uint32_t mat, PairRange pairs, const Operand& in,
                    const RowList& list, float* acc, const ProductScratch& scratch);

}  // namespace realizar::cpu
