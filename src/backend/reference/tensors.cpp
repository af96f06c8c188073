#include "backend/reference/tensors.h"

#include "backend/source_rows.h"
#include "base/check.h"
#include "quant/types.h"

namespace realizar::reference {

Matrix decoded(const MatrixSource& source) {
  Matrix m{source.n_mats, source.n_rows, source.n_cols, {}};
  m.values.resize(size_t{m.n_mats} * m.n_rows * m.n_cols);
  const TypeTraits& type = traits(source.type);
  const SourceRows rows(source);
  std::vector<float> stored;
  for (const auto piece : source.pieces) {
    const size_t n = piece.size() / type.block_bytes * type.block_elems;
    stored.resize(stored.size() + n);
    type.decode(piece.data(), stored.data() + stored.size() - n, n);
  }
  REQUIRE(stored.size() == m.values.size());
  for (uint32_t mat = 0; mat < m.n_mats; ++mat) {
    for (uint32_t r = 0; r < m.n_rows; ++r) {
      const uint32_t from = source.row_order.empty() ? r : source.row_order[r];
      const float* scales = rows.scales(mat, r);
      for (uint32_t c = 0; c < m.n_cols; ++c) {
        const size_t at = source.transposed ? size_t{c} * m.n_rows + from : size_t{from} * m.n_cols + c;
        float value = stored[size_t{mat} * m.n_rows * m.n_cols + at];
        if (scales != nullptr) value *= scales[source.type == TypeId::kF8_E4M3 ? c / kF8ScaleCols : 0];
        m.values[(size_t{mat} * m.n_rows + r) * m.n_cols + c] = value;
      }
    }
  }
  return m;
}

}  // namespace realizar::reference
