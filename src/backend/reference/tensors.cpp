#include "backend/reference/tensors.h"

#include "backend/source_rows.h"
#include "quant/types.h"

namespace realizar::reference {

Matrix decoded(const MatrixSource& source) {
  Matrix m{source.n_mats, source.n_rows, source.n_cols, {}};
  m.values.resize(size_t{m.n_mats} * m.n_rows * m.n_cols);
  const TypeTraits& type = traits(source.type);
  const SourceRows rows(source);
  float* values = m.values.data();
  for (uint32_t mat = 0; mat < m.n_mats; ++mat) {
    for (uint32_t r = 0; r < m.n_rows; ++r, values += m.n_cols) {
      if (!source.transposed) type.decode(rows.row(mat, r), values, m.n_cols);
      for (uint32_t c = 0; source.transposed && c < m.n_cols; ++c) {
        type.decode(rows.element(mat, r, c, type.block_bytes), values + c, 1);
      }
      const float* scales = rows.scales(mat, r);
      for (uint32_t c = 0; scales != nullptr && c < m.n_cols; ++c) {
        values[c] *= scales[source.type == TypeId::kF8_E4M3 ? c / kF8ScaleCols : 0];
      }
    }
  }
  return m;
}

}  // namespace realizar::reference
