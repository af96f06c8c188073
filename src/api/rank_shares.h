// How ranks would share a model, determined without loading it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/ranks/rank_weights.h"
#include "backend/state_layout.h"
#include "formats/model_file.h"
#include "model/model_config.h"
#include "quant/type_id.h"
#include "realizar/options.h"

namespace realizar {

// Matrices that differ only in their layer.
struct SharedMatrices {
  std::string name;  // the name in the file, with N for the layer's index
  TypeId type = TypeId::kF32;
  uint32_t n = 0, n_mats = 1, n_rows = 0, n_cols = 0;
  ranks::MatrixSharing sharing;
};

struct RankShares {
  std::vector<SharedMatrices> matrices;   // in loading order
  std::vector<uint64_t> weight_bytes;     // for each rank, as stored
  std::vector<ranks::LayerRange> layers;  // for each rank, if each has whole layers
};

// Memory for a rank's share, for a backend that must know it before loading: a GPU's.
struct RankNeeds {
  uint64_t weight_bytes = 0, kv_bytes = 0;
  uint64_t other_bytes = 0;  // in addition to weights and cache
  uint32_t n_layers = 0;     // in the whole model
};

// The number of layers that cost as much as the head.
float head_layers(const ModelFile& file, const ModelConfig& config);
ranks::RankSplit rank_split(Split split);
// Errors: those of Model::load; Unsupported if the model has fewer layers than ranks.
Result<RankShares> find_rank_shares(const ModelFile& file, const ModelConfig& config, Split split, uint32_t n_ranks);
// Bytes of the cache that a rank keeps; if heads are not shared equally, the most that any rank keeps.
uint64_t rank_kv_bytes(CacheLayout cache, const ranks::RankOptions& options, uint32_t rank, uint32_t n_ranks);

}  // namespace realizar
