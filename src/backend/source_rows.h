// The stored rows of a matrix to be loaded, regardless of its pieces and their order.
#pragma once

#include <algorithm>
#include <string>

#include "backend/backend.h"
#include "quant/types.h"

namespace realizar {

// The error for a source with NaN or infinity.
inline Error not_finite(const MatrixSource& source) {
  return format_error("tensor '" + std::string(source.name) + "': a weight is not a finite number",
                      std::string(source.name));
}

// Finds stored rows in the pieces of a source.
class SourceRows {
 public:
  explicit SourceRows(const MatrixSource& source)
      : source_(source),
        part_(source.part.value_or(StoredPart{source.n_mats, source.n_rows, source.n_cols})),
        stored_cols_(source.transposed ? part_.n_rows : part_.n_cols),
        stored_rows_(source.transposed ? part_.n_cols : part_.n_rows),
        row_bytes_(row_bytes(traits(source.type), stored_cols_)),
        rows_a_piece_(source.pieces.empty() ? 0 : source.pieces[0].size() / std::max<size_t>(1, row_bytes_)),
        skipped_bytes_(source.transposed ? 0 : row_bytes(traits(source.type), part_.first_col)) {}

  // Errors: InvalidArgument (wrong size of pieces or scales), Unsupported (transposed F8 or block types).
  Status check() const {
    const TypeTraits& type = traits(source_.type);
    if (source_.transposed && (type.layout != Layout::kPlain || type.id == TypeId::kF8_E4M3)) {
      return unsupported("a transposed matrix of type " + std::string(type.name), std::string(source_.name));
    }
    const size_t n_scales = size_t{part_.n_mats} * part_.n_rows * n_row_scales(source_.type, part_.n_cols);
    if (!source_.scales.empty() && source_.scales.size() != n_scales) {
      return invalid_argument("a matrix that wants " + std::to_string(n_scales) + " scales was given " +
                                  std::to_string(source_.scales.size()),
                              std::string(source_.name));
    }
    size_t n = 0;
    for (const auto piece : source_.pieces) n += piece.size();
    const bool even = source_.pieces.empty() || rows_a_piece_ * row_bytes_ * source_.pieces.size() == n;
    const size_t expected = size_t{part_.n_mats} * stored_rows_ * row_bytes_;
    if (even && n == expected && stored_cols_ % type.block_elems == 0) return {};
    return invalid_argument("a matrix of " + std::to_string(expected) + " bytes was given " + std::to_string(n) +
                                " in " + std::to_string(source_.pieces.size()) + " pieces",
                            std::string(source_.name));
  }

  const std::byte* row(uint32_t mat, uint32_t r) const {
    return stored(stored_mat(mat) * part_.n_rows + place_of(r)) + skipped_bytes_;
  }
  // [n_row_scales(type, n_cols)] of the row; null: all 1.
  const float* scales(uint32_t mat, uint32_t r) const {
    if (source_.scales.empty()) return nullptr;
    const size_t n = n_row_scales(source_.type, part_.n_cols);
    const size_t n_skipped = n_row_scales(source_.type, part_.first_col);
    return source_.scales.data() + (stored_mat(mat) * part_.n_rows + place_of(r)) * n + (n > 1 ? n_skipped : 0);
  }
  size_t stored_row_bytes() const { return row_bytes_; }
  // The element at (r, c) of a transposed source.
  const std::byte* element(uint32_t mat, uint32_t r, uint32_t c, size_t n_bytes) const {
    return stored(stored_mat(mat) * part_.n_cols + part_.first_col + c) + place_of(r) * n_bytes;
  }

 private:
  size_t stored_mat(uint32_t mat) const { return size_t{part_.first_mat} + mat; }
  // A row's index among the rows of its stored matrix.
  size_t place_of(uint32_t r) const {
    const uint32_t row = part_.first_row + r;
    return source_.row_order.empty() ? row : source_.row_order[row];
  }
  const std::byte* stored(size_t row) const {
    return source_.pieces[row / rows_a_piece_].data() + row % rows_a_piece_ * row_bytes_;
  }

  const MatrixSource& source_;
  StoredPart part_;
  size_t stored_cols_, stored_rows_, row_bytes_, rows_a_piece_, skipped_bytes_;
};

}  // namespace realizar
