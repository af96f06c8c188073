// One rank's program for a model with some layers on each rank (RankSplit::kLayer): rows come from the previous rank
// and go to the next. Results are those of one process, bit for bit.
#pragma once

#include "backend/program.h"
#include "backend/ranks/rank_split.h"
#include "backend/ranks/shared_program.h"

namespace realizar::ranks {

// The last rank has the outputs. Errors: Unsupported, by name, if a layer reads the cache of another rank's layer.
Result<RankProgram> layer_program(const Program& whole, const CacheLayout& cache, const RankOptions& options,
                                  uint32_t rank, uint32_t n_ranks);

// A rank's part of the whole cache: other ranks' layers keep nothing, and groups are unchanged.
CacheLayout kept_of(CacheLayout whole, LayerRange own);

}  // namespace realizar::ranks
