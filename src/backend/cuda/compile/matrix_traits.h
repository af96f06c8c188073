// Requirements of a matrix type on launches of its products.
#pragma once

#include "backend/cuda/kernels/kernels.h"
#include "quant/type_table.h"

namespace realizar::cuda {

// Whether prompt rows are multiplied in tiles, by tensor cores.
inline bool has_tiles(TypeId type) {
  return type != TypeId::kF32 && layout_of(type) != Layout::kStored;
}
// Whether these rows are split in two.
inline bool wants_split(TypeId type) {
  return type == TypeId::kF16 || type == TypeId::kBF16 || type == TypeId::kF8_E4M3;
}
// Whether products are integer products.
inline bool has_groups(TypeId type) {
  return layout_of(type) == Layout::kGroups;
}

}  // namespace realizar::cuda
