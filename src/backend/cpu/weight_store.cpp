#include "backend/cpu/weight_store.h"

#include <cstring>

#include "base/try.h"

namespace realizar::cpu {

Result<WeightId> WeightStore::add_matrix(const MatrixSource& source, ThreadTeam& team) {
  RZ_TRY(const PanelMatrix matrix, pack_panels(source, team, memory_));
  matrices_.push_back(matrix);
  names_.emplace_back(source.name);
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

Result<WeightId> WeightStore::add_vector(std::span<const float> values) {
  PanelMatrix m;
  m.n_mats = m.n_rows = 1;
  m.n_cols = static_cast<uint32_t>(values.size());
  m.panel_bytes = values.size_bytes();
  RZ_TRY(m.data, memory_.allocate(values.size_bytes()));
  if (!values.empty()) std::memcpy(m.data, values.data(), values.size_bytes());
  matrices_.push_back(m);
  names_.emplace_back();
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

size_t WeightStore::n_bytes() const {
  size_t n = 0;
  for (const PanelMatrix& m : matrices_) n += m.bytes();
  return n;
}

}  // namespace realizar::cpu
