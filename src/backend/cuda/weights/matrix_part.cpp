#include "backend/cuda/weights/matrix_part.h"

#include <numeric>

#include "quant/types.h"

namespace realizar::cuda {

Result<MatrixPart> part_of(const MatrixSource& source, uint32_t device, uint32_t n_devices) {
  MatrixPart part = whole_of(source);
  if (n_devices == 1 || source.layer < 0 || source.shard == Shard::kWhole || source.shard_unit == 0) return part;
  const bool is_rows = source.shard == Shard::kRows;
  const uint32_t block = source.type == TypeId::kF8_E4M3 ? kF8ScaleCols : traits(source.type).block_elems;
  const uint32_t unit = is_rows ? source.shard_unit : std::lcm(source.shard_unit, block);
  uint32_t& n = is_rows ? part.n_rows : part.n_cols;
  if (n % (unit * n_devices) != 0) {
    return unsupported(std::string(source.name) + ": " + std::to_string(n) + (is_rows ? " rows" : " columns") +
                           " in units of " + std::to_string(unit) + " cannot be shared by " +
                           std::to_string(n_devices) + " devices",
                       std::string(source.name));
  }
  n /= n_devices;
  (is_rows ? part.first_row : part.first_col) = device * n;
  return part;
}

}  // namespace realizar::cuda
