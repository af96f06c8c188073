// The part of a matrix that one device has of it, where several share it.
#pragma once

#include "backend/backend.h"

namespace realizar::cuda {

// These columns of these rows, in every matrix of a stack.
struct MatrixPart {
  uint32_t first_row = 0, n_rows = 0;
  uint32_t first_col = 0, n_cols = 0;
};

inline MatrixPart whole_of(const MatrixSource& source) {
  return {0, source.n_rows, 0, source.n_cols};
}
// What belongs to no layer, or is one device's alone, is whole there. Errors: Unsupported, by name, where the devices
// cannot have parts of one size.
Result<MatrixPart> part_of(const MatrixSource& source, uint32_t device, uint32_t n_devices);

}  // namespace realizar::cuda
