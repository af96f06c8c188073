// Packed matrices and vectors, by id.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/cpu/packed_matrix.h"

namespace realizar::cpu {

class WeightStore {
 public:
  // `team` packs. Errors: as pack_matrix.
  Result<WeightId> add_matrix(const MatrixSource& source, ThreadTeam& team);
  Result<WeightId> add_vector(std::span<const float> values);
  // Backend::write_weights.
  Status write(WeightId id, size_t first_row, std::span<const float> values);

  const PackedMatrix& matrix(WeightId id) const { return matrices_[static_cast<uint32_t>(id)]; }
  // The name that it was loaded under.
  const std::string& name(WeightId id) const { return names_[static_cast<uint32_t>(id)]; }
  // Null for kNoWeight.
  const float* vector(WeightId id) const {
    return id == kNoWeight ? nullptr : reinterpret_cast<const float*>(matrix(id).data);
  }
  size_t n_bytes() const;

 private:
  Arena memory_;
  std::vector<PackedMatrix> matrices_;
  std::vector<std::string> names_;  // by matrix; empty for vectors
};

}  // namespace realizar::cpu
