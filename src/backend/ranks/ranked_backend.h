// A model that several processes share: each has its own backend with its share of the weights and the cache. Rank 0
// has the engine; the others follow its compiled programs and its steps.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/exchange.h"
#include "backend/ranks/rank_split.h"

namespace realizar::ranks {

// `own`: made with the same exchange, which must outlive it. All ranks load the same model in the same order. On rank 0
// the result is an ordinary backend, except that adapters and watch_inputs are Unsupported; results for a given number
// of ranks do not depend on the batch, and with RankSplit::kLayer they are those of one process. Errors: Unsupported,
// with more ranks than layers, or than kMaxRanks.
Result<std::unique_ptr<Backend>> make_ranked_backend(std::unique_ptr<Backend> own, Exchange& exchange,
                                                     const RankOptions& options);

// On another rank, once its model is loaded: follows rank 0 until that ends. Errors: Internal, if a rank is lost; those
// of the backend's steps.
Status follow(Backend& ranked);

}  // namespace realizar::ranks
