// What a matrix's type asks of the launches that multiply with it.
#pragma once

#include "backend/cuda/kernels/kernels.h"
#include "quant/type_table.h"

namespace realizar::cuda {

// A prompt's rows are multiplied in tiles, by tensor cores.
inline bool has_tiles(TypeId type) {
  return type != TypeId::kF32 && layout_of(type) != Layout::kStored;
}
// They are split in two for these.
inline bool wants_split(TypeId type) {
  return type == TypeId::kF16 || type == TypeId::kBF16 || type == TypeId::kF8_E4M3;
}
// Products are of integers.
inline bool has_groups(TypeId type) {
  return layout_of(type) == Layout::kGroups;
}

}  // namespace realizar::cuda
