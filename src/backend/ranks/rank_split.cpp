#include "backend/ranks/rank_split.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "backend/row_exchange.h"

namespace realizar::ranks {
namespace {

// The first layer of a rank; n_layers for the rank after the last.
uint32_t first_layer(const RankOptions& options, uint32_t rank, uint32_t n_ranks) {
  if (rank == n_ranks) return options.n_layers;
  const double share = (static_cast<double>(options.n_layers) + options.head_layers) / n_ranks;
  const auto first = static_cast<uint32_t>(std::lround(share * rank));
  return std::clamp(first, rank, options.n_layers - (n_ranks - rank));
}

}  // namespace

Status check_ranks(const RankOptions& options, uint32_t n_ranks) {
  const uint32_t most = options.split == RankSplit::kLayer ? std::min(options.n_layers, kMaxRanks) : kMaxRanks;
  if (n_ranks >= 1 && n_ranks <= most) return {};
  return unsupported("this model can be shared by " + std::to_string(most) + " ranks at most, and there are " +
                         std::to_string(n_ranks),
                     "split");
}

LayerRange layers_of(const RankOptions& options, uint32_t rank, uint32_t n_ranks) {
  return {first_layer(options, rank, n_ranks), first_layer(options, rank + 1, n_ranks)};
}

}  // namespace realizar::ranks
