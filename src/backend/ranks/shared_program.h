// One rank's program of a model whose layers all ranks share (RankSplit::kTensor and kExpert): its products give its
// rows of q, k, v, gate and up, its attention has its heads, and what o and down give is a part of a sum that a JoinOp
// makes whole. What is not shared is computed by every rank.
#pragma once

#include <vector>

#include "backend/program.h"
#include "backend/ranks/rank_weights.h"
#include "backend/state_layout.h"

namespace realizar::ranks {

struct RankProgram {
  Program program;    // activations of the whole program have the same numbers; those that are shared lie elsewhere
  CacheLayout cache;  // what this rank keeps
};

// Errors: Unsupported, by name, where an operation wants what this rank has a share of as a whole.
Result<RankProgram> share_program(const Program& whole, const CacheLayout& cache, RankWeights& weights, uint32_t rank,
                                  uint32_t n_ranks);

}  // namespace realizar::ranks
