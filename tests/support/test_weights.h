// Random weights and inputs, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/backend.h"

namespace realizar::test {

// Uniform in [-1, 1).
std::vector<float> random_values(size_t n, uint32_t seed);

// A matrix in its stored form, and its decoded values.
struct TestMatrix {
  TypeId type;
  uint32_t n_mats, n_rows, n_cols;
  std::vector<std::byte> bytes;
  std::vector<float> values;  // [n_mats, n_rows, n_cols], decoded
  std::vector<float> scales;  // of F8_E4M3, as in MatrixSource
  std::vector<float> sizes;   // the same shape: |scale * code| + |minimum|, the scale of products' rounding errors

  const float* row(uint32_t mat, uint32_t r) const { return values.data() + offset(mat, r); }
  const float* size_row(uint32_t mat, uint32_t r) const { return sizes.data() + offset(mat, r); }
  MatrixSource source() const {
    MatrixSource source{"matrix", type, n_mats, n_rows, n_cols, {bytes}, {}, false};
    source.scales = scales;
    return source;
  }

 private:
  size_t offset(uint32_t mat, uint32_t r) const { return (size_t{mat} * n_rows + r) * n_cols; }
};

TestMatrix random_matrix(TypeId type, uint32_t n_mats, uint32_t n_rows, uint32_t n_cols, uint32_t seed);

// An input activation's row for each token.
struct InputTable {
  uint32_t n_tokens, n_cols;
  std::vector<float> values;  // [n_tokens, n_cols]

  float* row(uint32_t token) { return values.data() + size_t{token} * n_cols; }
  const float* row(uint32_t token) const { return values.data() + size_t{token} * n_cols; }
};

InputTable random_inputs(uint32_t n_tokens, uint32_t n_cols, uint32_t seed);
// Such inputs with extreme tokens 0 to 4: zeros, one 1e4 among values near 1e-4, denormals, negative zeros, and
// denormals among ordinary values.
InputTable extreme_inputs(uint32_t n_tokens, uint32_t n_cols, uint32_t seed);

}  // namespace realizar::test
