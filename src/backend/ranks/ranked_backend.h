// A model that several processes share: each has a backend of its own with its share of the weights and the cache.
// Rank 0 has the engine; the others follow the programs that it compiles and the steps that it runs.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/exchange.h"
#include "backend/ranks/rank_split.h"

namespace realizar::ranks {

// `own`: made with the same exchange, which must outlive it. All ranks load the same model in the same order. On rank 0
// the other calls are those of any backend, but adapters and what matrices are multiplied by are Unsupported; results
// are the same for a number of ranks, whatever the batch, and with RankSplit::kLayer those of one process. Errors:
// Unsupported, where there are more ranks than layers, or than kMaxRanks.
Result<std::unique_ptr<Backend>> make_ranked_backend(std::unique_ptr<Backend> own, Exchange& exchange,
                                                     const RankOptions& options);

// On another rank, once its model is loaded: does what rank 0 says until that ends. Errors: Internal, where a rank is
// lost; those of the backend's steps.
Status follow(Backend& ranked);

}  // namespace realizar::ranks
