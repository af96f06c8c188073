// How ranks would share a model, found without loading it.
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

// Matrices that differ in nothing but their layer.
struct SharedMatrices {
  std::string name;  // the file's, with N for the number of the layer
  TypeId type = TypeId::kF32;
  uint32_t n = 0, n_mats = 1, n_rows = 0, n_cols = 0;
  ranks::MatrixSharing sharing;
};

struct RankShares {
  std::vector<SharedMatrices> matrices;   // in the order of loading
  std::vector<uint64_t> weight_bytes;     // of each rank, as they are stored
  std::vector<ranks::LayerRange> layers;  // of each rank, where each has some
};

// Memory that a rank's share takes, for a backend that has to know it before anything is loaded: a GPU's.
struct RankNeeds {
  uint64_t weight_bytes = 0, kv_bytes = 0;
  uint64_t other_bytes = 0;  // besides weights and cache
  uint32_t n_layers = 0;     // of the whole model
};

// How many layers weigh as much as the head.
float head_layers(const ModelFile& file, const ModelConfig& config);
ranks::RankSplit rank_split(Split split);
// Errors: those of Model::load; Unsupported, where the model has fewer layers than there are ranks to have some.
Result<RankShares> find_rank_shares(const ModelFile& file, const ModelConfig& config, Split split, uint32_t n_ranks);
// Bytes of the cache that a rank keeps; where heads have no equal shares, the most that one may.
uint64_t rank_kv_bytes(CacheLayout cache, const ranks::RankOptions& options, uint32_t rank, uint32_t n_ranks);

}  // namespace realizar
