// One rank's program for a model whose layers all ranks share (RankSplit::kTensor and kExpert): its products yield its
// rows of q, k, v, gate and up, its attention has its heads, and the results of o and down are parts of a sum that a
// JoinOp completes. Every rank computes the rest.
#pragma once

#include <vector>

#include "backend/program.h"
#include "backend/ranks/rank_weights.h"
#include "backend/state_layout.h"

namespace realizar::ranks {

struct RankProgram {
  Program program;    // activations of the whole program keep their ids; shared ones have additional ones
  CacheLayout cache;  // kept by this rank
};

// Errors: Unsupported, by name, if an operation needs the whole of something that is shared.
Result<RankProgram> share_program(const Program& whole, const CacheLayout& cache, RankWeights& weights, uint32_t rank,
                                  uint32_t n_ranks);

}  // namespace realizar::ranks
