#include "backend/ranks/rank_weights.h"

#include "base/check.h"
#include "base/try.h"

namespace realizar::ranks {

MatrixSharing sharing_of(const MatrixShape& shape, RankSplit split, uint32_t n_ranks) {
  if (n_ranks == 1 || split == RankSplit::kLayer || shape.shard == Shard::kWhole || shape.shard_unit == 0) return {};
  MatrixSharing found{Shared::kRows, {shape.n_rows, shape.shard_unit}};
  if (shape.shard == Shard::kCols) found = {Shared::kCols, {shape.n_cols, shape.shard_unit}};
  if (split == RankSplit::kExpert && shape.n_mats > 1) found = {Shared::kMats, {shape.n_mats, 1}};
  return found.sharing.n_units() >= n_ranks ? found : MatrixSharing{};
}

bool holds(const MatrixSource& source, const RankOptions& options, uint32_t rank, uint32_t n_ranks) {
  if (options.split != RankSplit::kLayer) return true;
  if (source.layer >= 0) return layers_of(options, rank, n_ranks).has(source.layer);
  const bool is_first = rank == 0, is_last = rank + 1 == n_ranks;
  if (source.is_gathered) return is_first;
  const bool is_head = source.shard_unit > 0 && !source.is_embedding;
  return is_last || (is_first && !is_head);
}

RankWeights::RankWeights(Backend& backend, const RankOptions& options, uint32_t rank, uint32_t n_ranks)
    : backend_(backend), options_(options), rank_(rank), n_ranks_(n_ranks) {}

WeightId RankWeights::add(WeightId id, Weight weight) {
  weights_.resize(static_cast<size_t>(id) + 1);
  if (weight.table == kNoWeight) weight.table = id;
  weights_.back() = std::move(weight);
  return id;
}

Result<WeightId> RankWeights::load_matrix(const MatrixSource& source) {
  Weight weight;
  weight.n_mats = source.n_mats;
  weight.sharing =
      sharing_of({source.n_mats, source.n_rows, source.n_cols, source.layer, source.shard, source.shard_unit},
                 options_.split, n_ranks_);
  WeightId id = kNoWeight;
  if (!holds(source, options_, rank_, n_ranks_)) {
    constexpr float kNothing[] = {0.0f};
    RZ_TRY(id, backend_.load_vector(kNothing));
  } else if (weight.sharing.shared == Shared::kNothing) {
    RZ_TRY(id, backend_.load_matrix(source));
  } else {
    if (source.is_embedding) {
      MatrixSource table = source;
      table.is_gathered = true;
      RZ_TRY(weight.table, backend_.load_matrix(table));
    }
    RZ_TRY(id, load_part(source, weight.sharing));
  }
  return add(id, std::move(weight));
}

Result<WeightId> RankWeights::load_part(const MatrixSource& source, const MatrixSharing& sharing) {
  REQUIRE(!source.part);
  const Sharing::Range range = sharing.sharing.of(rank_, n_ranks_);
  MatrixSource own = source;
  own.shard = Shard::kWhole;
  own.part = StoredPart{source.n_mats, source.n_rows, source.n_cols};
  if (sharing.shared == Shared::kRows) own.n_rows = range.n, own.part->first_row = range.first;
  if (sharing.shared == Shared::kCols) own.n_cols = range.n, own.part->first_col = range.first;
  if (sharing.shared == Shared::kMats) own.n_mats = range.n, own.part->first_mat = range.first;
  return backend_.load_matrix(own);
}

Result<WeightId> RankWeights::load_vector(std::span<const float> values, int32_t layer) {
  Weight weight;
  if (options_.split != RankSplit::kLayer) weight.values.assign(values.begin(), values.end());
  RZ_TRY(const WeightId id, backend_.load_vector(values, layer));
  return add(id, std::move(weight));
}

const MatrixSharing& RankWeights::sharing(WeightId id) const {
  static const MatrixSharing kWhole;
  return id == kNoWeight ? kWhole : at(id).sharing;
}

WeightId RankWeights::table_of(WeightId id) const {
  return id == kNoWeight ? kNoWeight : at(id).table;
}

Result<WeightId> RankWeights::slice(WeightId id, uint32_t n_inner, Sharing::Range outer, Sharing::Range inner) {
  if (id == kNoWeight) return kNoWeight;
  const auto key = std::tuple(id, outer.first, outer.n, inner.first, inner.n);
  if (const auto found = slices_.find(key); found != slices_.end()) return found->second;
  const std::span<const float> all = at(id).values;
  std::vector<float> values;
  for (uint32_t i = outer.first; i < outer.first + outer.n; ++i) {
    const auto row = all.subspan(size_t{i} * n_inner + inner.first, inner.n);
    values.insert(values.end(), row.begin(), row.end());
  }
  RZ_TRY(const WeightId loaded, backend_.load_vector(values));
  slices_.emplace(key, loaded);
  return loaded;
}

}  // namespace realizar::ranks
