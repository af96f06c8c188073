// Stored rows as the planes of a device's Matrix (kernels.h), without loss.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/kernels.h"

namespace realizar::cuda {

// Bytes a row in each plane.
struct PlaneBytes {
  size_t low, high, headers, scales;
};
PlaneBytes plane_bytes(TypeId type, uint32_t n_cols);

// One row's place in each plane.
struct PlaneRow {
  std::byte *low, *high, *headers, *scales;
};
// Precondition: a type of groups; `row` holds n_cols columns, a multiple of the type's block.
// scales: as SourceRows::scales() gives them.
void repack_row(TypeId type, const std::byte* row, uint32_t n_cols, const float* scales, const PlaneRow& to);

}  // namespace realizar::cuda
