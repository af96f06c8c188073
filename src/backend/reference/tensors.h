// Weights and activations of the reference backend, all as F32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "backend/op_types.h"

namespace realizar::reference {

struct Matrix {
  uint32_t n_mats = 0, n_rows = 0, n_cols = 0;
  std::vector<float> values;  // [n_mats, n_rows, n_cols]

  const float* row(uint32_t mat, uint32_t r) const { return values.data() + (size_t{mat} * n_rows + r) * n_cols; }
};

struct Activation2D {
  uint32_t n_cols = 0;
  Rows rows = Rows::kAll;
  std::vector<float> values;  // [max rows, n_cols]

  float* row(uint32_t r) { return values.data() + size_t{r} * n_cols; }
  const float* row(uint32_t r) const { return values.data() + size_t{r} * n_cols; }
};

// Weights and activations by id.
struct Tensors {
  std::vector<Matrix> matrices;  // vectors too: one row
  std::vector<Activation2D> activations;

  const Matrix& weight(WeightId id) const { return matrices[static_cast<uint32_t>(id)]; }
  // Null for kNoWeight.
  const float* vector(WeightId id) const { return id == kNoWeight ? nullptr : weight(id).values.data(); }
  Activation2D& act(ActId id) { return activations[static_cast<uint32_t>(id)]; }
  const Activation2D& act(ActId id) const { return activations[static_cast<uint32_t>(id)]; }
};

// Decodes every row, in the requested order.
Matrix decoded(const MatrixSource& source);

}  // namespace realizar::reference
