// Products of a packed matrix with rows of activations, two panels (32 outputs) at a time. Decode rows go through int8
// dot products (block types) or F32 ones (plain types); prefill rows through register-blocked products with a tile that
// is unpacked once for all of them.
#pragma once

#include <vector>

#include "backend/cpu/panels.h"

namespace realizar {

inline constexpr uint32_t kPairRows = 2 * kPanelRows;

// The activations of one operation in the forms that kernels read. Rows keep their index from the F32 source.
class PreparedRows {
 public:
  Status reserve(uint32_t n_rows, uint32_t n_cols);  // grows; contents are lost
  bool fits(uint32_t n_rows, uint32_t n_cols) const { return n_rows <= max_rows_ && n_cols <= max_cols_; }
  // Starts a new source; rows are then prepared one by one, by any thread.
  void begin(const float* source, uint32_t n_cols) {
    source_ = source;
    n_cols_ = n_cols;
  }
  void prepare_decode(const KernelTable& kernels, uint32_t row);
  void prepare_prefill(const KernelTable& kernels, bool bf16, uint32_t row);

  ActRow decode_row(uint32_t row) const {
    return {source_ + size_t{row} * n_cols_, quants(row), scales(row), sums(row)};
  }
  const void* prefill_row(uint32_t row) const { return wide_.as<uint8_t>() + row * wide_stride(); }

 private:
  // A line more than the row, so that rows do not fall on the same sets of the cache.
  size_t wide_stride() const { return size_t{max_cols_} * 4 + 64; }
  int8_t* quants(uint32_t row) const { return quants_.as<int8_t>() + size_t{row} * max_cols_; }
  float* scales(uint32_t row) const { return scales_.as<float>() + size_t{row} * (max_cols_ / kGroupCols); }
  int32_t* sums(uint32_t row) const { return sums_.as<int32_t>() + size_t{row} * (max_cols_ / kGroupCols * 2); }

  uint32_t max_rows_ = 0, max_cols_ = 0;
  Pages quants_, scales_, sums_, wide_;
  const float* source_ = nullptr;
  uint32_t n_cols_ = 0;
};

// The rows that one product is for: indices into PreparedRows, decode rows first.
struct RowList {
  const uint32_t* rows;
  uint32_t n_decode, n_rows;
};

inline constexpr size_t kTileBytes = size_t{2} * 16 * 512 * 2;  // two bf16 tiles of 512 columns, or F32 ones of 256

// acc[i * 32 + j] = row 32 * pair + j of matrix `mat` . rows[i]. `tile` is kTileBytes of scratch.
void multiply_pair(const KernelTable& kernels, const PanelMatrix& m, uint32_t mat, uint32_t pair,
                   const PreparedRows& in, const RowList& list, float* acc, std::byte* tile);

}  // namespace realizar
