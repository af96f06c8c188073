// One rank's program of a model of which each rank has some layers (RankSplit::kLayer): rows come from the rank before
// and go to the one after it. Its results are those of one process, bit for bit.
#pragma once

#include "backend/program.h"
#include "backend/ranks/rank_split.h"
#include "backend/ranks/shared_program.h"

namespace realizar::ranks {

// The program's outputs are the last rank's. Errors: Unsupported, by name, where a layer reads what one of another rank
// has kept.
Result<RankProgram> layer_program(const Program& whole, const CacheLayout& cache, const RankOptions& options,
                                  uint32_t rank, uint32_t n_ranks);

// The part of the whole cache that a rank with these layers keeps: layers elsewhere keep nothing, and groups stay.
CacheLayout kept_of(CacheLayout whole, LayerRange own);

}  // namespace realizar::ranks
