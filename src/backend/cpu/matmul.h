// Products of a packed matrix with rows of activations, two panels (32 outputs) at a time. Decode rows go through int8
// dot products (block types) or F32 ones (plain types); prefill rows through register-blocked products with a tile that
// is unpacked once for all of them.
#pragma once

#include <vector>

#include "backend/cpu/panels.h"

namespace realizar {

inline constexpr uint32_t kPairRows = 2 * kPanelRows;

// The activations of one operation in the forms that kernels read, made row by row by any thread. Rows keep their
// index from the F32 source.
class PreparedRows {
 public:
  Status reserve(uint32_t n_rows, uint32_t n_cols);  // grows; contents are lost
  bool fits(uint32_t n_rows, uint32_t n_cols) const { return n_rows <= max_rows_ && n_cols <= max_cols_; }
  void prepare_decode(const KernelTable& kernels, const float* values, uint32_t n_cols, uint32_t row);
  void prepare_prefill(const KernelTable& kernels, bool bf16, const float* values, uint32_t n_cols, uint32_t row);

  int8_t* quants(uint32_t row) const { return quants_.as<int8_t>() + size_t{row} * max_cols_; }
  ActGroup* groups(uint32_t row) const { return groups_.as<ActGroup>() + size_t{row} * (max_cols_ / kGroupCols); }
  uint8_t* wide(uint32_t row) const { return wide_.as<uint8_t>() + row * wide_stride(); }

 private:
  // A line more than the row, so that rows do not fall on the same sets of the cache.
  size_t wide_stride() const { return size_t{max_cols_} * 4 + 64; }

  uint32_t max_rows_ = 0, max_cols_ = 0;
  Pages quants_, groups_, wide_;
};

// The rows that one product is for: indices into `source` and its prepared forms, decode rows first.
struct RowList {
  const uint32_t* rows;
  uint32_t n_decode, n_rows;
};

// What a matrix is multiplied with: F32 [.., n_cols], and the same rows prepared.
struct Operand {
  const float* source;
  const PreparedRows* prepared;
};

inline uint32_t n_pairs(const PanelMatrix& m) {
  return (m.n_panels() + 1) / 2;
}

inline constexpr size_t kTileBytes = size_t{2} * 16 * 512 * 2;  // two bf16 tiles of 512 columns, or F32 ones of 256

// acc[i * 32 + j] = row 32 * pair + j of matrix `mat` . rows[i]. `tile` is kTileBytes of scratch.
void multiply_pair(const KernelTable& kernels, const PanelMatrix& m, uint32_t mat, uint32_t pair, const Operand& in,
                   const RowList& list, float* acc, std::byte* tile);

}  // namespace realizar
