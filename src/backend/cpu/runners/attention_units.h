// A step's attention split into units, the same for every layer of a model: some rows of a sequence, or one part of a
// decode row's positions.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/step_batch.h"

namespace realizar::cpu {

struct AttentionUnit {
  static constexpr uint32_t kNoPart = ~0u;

  uint32_t seq, first_row, part;
  uint32_t part_idx;  // index of the part's sums in the step; kNoPart: the unit is not split
};

struct AttentionUnits {
  std::vector<AttentionUnit> all;
  uint32_t n_rows_each = 0;  // prompt rows per unit
  uint32_t n_parts = 0;      // in all rows

  void plan(const StepBatch& batch, uint32_t rows_each);
};

}  // namespace realizar::cpu
