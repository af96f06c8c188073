// Division of a model among ranks.
#pragma once

#include <cstdint>

#include "realizar/result.h"

namespace realizar::ranks {

// Each rank has some of the layers (kLayer); or a part of every layer: some rows of its first products, the columns of
// its last ones that read them, and the heads' cache (kTensor); or that, but whole experts (kExpert).
enum class RankSplit : uint8_t { kLayer, kTensor, kExpert };

struct RankOptions {
  RankSplit split = RankSplit::kLayer;
  uint32_t n_layers = 0;     // in the model
  float head_layers = 0.0f;  // the head's cost on the last rank, in layers
};

struct LayerRange {
  uint32_t first = 0, end = 0;
  bool has(int32_t layer) const {
    return layer >= 0 && static_cast<uint32_t>(layer) >= first && static_cast<uint32_t>(layer) < end;
  }
  bool operator==(const LayerRange&) const = default;
};
// Errors: Unsupported, if there are more ranks than layers, or than the maximum.
Status check_ranks(const RankOptions& options, uint32_t n_ranks);
// Layers [first, end) of a rank, at least one, leaving room for the head on the last rank. Precondition: check_ranks.
LayerRange layers_of(const RankOptions& options, uint32_t rank, uint32_t n_ranks);

}  // namespace realizar::ranks
