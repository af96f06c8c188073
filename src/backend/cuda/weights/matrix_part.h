// One device's part of a matrix that several devices share.
#pragma once

#include "backend/backend.h"

namespace realizar::cuda {

// These rows and columns of every matrix in a stack.
struct MatrixPart {
  uint32_t first_row = 0, n_rows = 0;
  uint32_t first_col = 0, n_cols = 0;
};

inline MatrixPart whole_of(const MatrixSource& source) {
  return {0, source.n_rows, 0, source.n_cols};
}
// Weights outside layers, and those of a single device, are whole. Errors: Unsupported, by name, if the devices cannot
// have parts of equal size.
Result<MatrixPart> part_of(const MatrixSource& source, uint32_t device, uint32_t n_devices);

}  // namespace realizar::cuda
