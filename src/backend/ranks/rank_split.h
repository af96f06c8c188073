// How ranks share a model.
#pragma once

#include <cstdint>

#include "realizar/result.h"

namespace realizar::ranks {

// Each rank has some of the layers; or a part of every layer: some rows of its first products and the columns of its
// last ones that read them, with the heads' cache; or that, but of experts whole ones.
enum class RankSplit : uint8_t { kLayer, kTensor, kExpert };

struct RankOptions {
  RankSplit split = RankSplit::kLayer;
  uint32_t n_layers = 0;     // of the model
  float head_layers = 0.0f;  // how many layers weigh as much as the head, which the last rank has
};

struct LayerRange {
  uint32_t first = 0, end = 0;
  bool has(int32_t layer) const {
    return layer >= 0 && static_cast<uint32_t>(layer) >= first && static_cast<uint32_t>(layer) < end;
  }
  bool operator==(const LayerRange&) const = default;
};
// Errors: Unsupported, where there are more ranks than layers to have, or than there may be.
Status check_ranks(const RankOptions& options, uint32_t n_ranks);
// Layers [first, end) of a rank, so that the last one's share has room for the head: each has one layer at least.
// Precondition: check_ranks.
LayerRange layers_of(const RankOptions& options, uint32_t rank, uint32_t n_ranks);

}  // namespace realizar::ranks
