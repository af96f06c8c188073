// One rank's share of a model's weights. Ids are those of its backend, and equal on all ranks, since all load the same
// model in the same order: a weight of which a rank has nothing is a vector of one zero there.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "backend/backend.h"
#include "backend/exchange_ops.h"
#include "backend/ranks/rank_split.h"

namespace realizar::ranks {

// The dimension that ranks divide in a matrix, or a stack of them.
enum class Shared : uint8_t { kNothing, kRows, kCols, kMats };

// How a matrix of this shape is shared; also shown by `inspect`. A layer's matrix is whole on every rank if it has
// fewer units than there are ranks.
struct MatrixShape {
  uint32_t n_mats = 1, n_rows = 0, n_cols = 0;
  int32_t layer = -1;
  Shard shard = Shard::kWhole;
  uint32_t shard_unit = 0;
};
struct MatrixSharing {
  Shared shared = Shared::kNothing;
  Sharing sharing;  // of the shared dimension
  bool operator==(const MatrixSharing&) const = default;
};
MatrixSharing sharing_of(const MatrixShape& shape, RankSplit split, uint32_t n_ranks);

// Whether a rank has any part of a matrix. With separate layers, the first has the embedding tables, the last the head,
// and both have other weights outside layers.
bool holds(const MatrixSource& source, const RankOptions& options, uint32_t rank, uint32_t n_ranks);

class RankWeights {
 public:
  // `backend` must outlive it.
  RankWeights(Backend& backend, const RankOptions& options, uint32_t rank, uint32_t n_ranks);

  // See Backend.
  Result<WeightId> load_matrix(const MatrixSource& source);
  Result<WeightId> load_vector(std::span<const float> values, int32_t layer);

  // How the matrix is shared; kNoWeight: not at all.
  const MatrixSharing& sharing(WeightId id) const;
  uint32_t n_mats(WeightId id) const { return at(id).n_mats; }  // in the whole stack
  // The matrix as a whole embedding table.
  WeightId table_of(WeightId id) const;
  // Elements of a vector [n_outer, n_inner], restricted to the ranges. Errors: those of load_vector.
  Result<WeightId> slice(WeightId id, uint32_t n_inner, Sharing::Range outer, Sharing::Range inner);
  Result<WeightId> slice(WeightId id, Sharing::Range range) { return slice(id, 0, {0, 1}, range); }

 private:
  struct Weight {
    WeightId table = kNoWeight;
    uint32_t n_mats = 1;
    MatrixSharing sharing;
    std::vector<float> values;  // for vectors
  };
  Result<WeightId> load_part(const MatrixSource& source, const MatrixSharing& sharing);
  WeightId add(WeightId id, Weight weight);
  const Weight& at(WeightId id) const { return weights_[static_cast<uint32_t>(id)]; }

  Backend& backend_;
  RankOptions options_;
  uint32_t rank_, n_ranks_;
  std::vector<Weight> weights_;  // by WeightId
  std::map<std::tuple<WeightId, uint32_t, uint32_t, uint32_t, uint32_t>, WeightId> slices_;
};

}  // namespace realizar::ranks
