// Lossless conversion of stored rows to the planes of a device's Matrix (kernels.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/kernels.h"

namespace realizar::cuda {

// Bytes per row in each plane.
struct PlaneBytes {
  size_t low, high, headers, scales;
};
PlaneBytes plane_bytes(TypeId type, uint32_t n_cols);

// One row in each plane.
struct PlaneRow {
  std::byte *low, *high, *headers, *scales;
};
// Precondition: a group type; `row` holds n_cols columns, a multiple of the type's block. scales: as returned by
// SourceRows::scales().
void repack_row(TypeId type, const std::byte* row, uint32_t n_cols, const float* scales, const PlaneRow& to);

}  // namespace realizar::cuda
