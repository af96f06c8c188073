#include "backend/cpu/weight_store.h"

#include <cstring>

#include "base/check.h"
#include "base/try.h"
#include "quant/finite.h"

namespace realizar::cpu {

Result<WeightId> WeightStore::add_matrix(const MatrixSource& source, ThreadTeam& team) {
  RZ_TRY(const PackedMatrix matrix, pack_matrix(source, team, memory_));
  matrices_.push_back(matrix);
  names_.emplace_back(source.name);
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

Result<WeightId> WeightStore::add_vector(std::span<const float> values) {
  PackedMatrix m;
  m.n_mats = m.n_rows = 1;
  m.n_cols = static_cast<uint32_t>(values.size());
  m.panel_bytes = values.size_bytes();
  RZ_TRY(m.data, memory_.allocate(values.size_bytes()));
  if (!values.empty()) std::memcpy(m.data, values.data(), values.size_bytes());
  matrices_.push_back(m);
  names_.emplace_back();
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

Status WeightStore::write(WeightId id, size_t first_row, std::span<const float> values) {
  const PackedMatrix& m = matrix(id);
  REQUIRE(m.type == TypeId::kF32 && values.size() % m.n_cols == 0);
  REQUIRE(first_row + values.size() / m.n_cols <= size_t{m.n_mats} * m.n_rows);
  const std::span<const std::byte> bytes = std::as_bytes(values);
  if (!all_finite(m.type, bytes.data(), values.size())) return format_error("a weight is not a finite number");
  const bool is_vector = m.panel_bytes == size_t{m.n_cols} * sizeof(float);
  if (is_vector) {
    std::memcpy(m.data, bytes.data(), bytes.size());
    return {};
  }
  const size_t row_bytes = size_t{m.n_cols} * sizeof(float);
  for (size_t i = 0; i < values.size() / m.n_cols; ++i) {
    const auto mat = static_cast<uint32_t>((first_row + i) / m.n_rows);
    const auto row = static_cast<uint32_t>((first_row + i) % m.n_rows);
    put_row(m.type, bytes.data() + i * row_bytes, m.n_cols, row % kPanelRows, m.panel(mat, row / kPanelRows));
  }
  return {};
}

size_t WeightStore::n_bytes() const {
  size_t n = 0;
  for (const PackedMatrix& m : matrices_) n += m.bytes();
  return n;
}

}  // namespace realizar::cpu
