// The backend on which one of several processes computes its share of a model.
#pragma once

#include <memory>

#include "api/rank_shares.h"
#include "backend/backend.h"
#include "backend/exchange.h"
#include "realizar/options.h"
#include "realizar/result.h"

namespace realizar {

// kAuto: the CPU. Errors: those of the chosen backend; InvalidArgument if a host has fewer GPUs than ranks, and none is
// named for all of them.
Result<std::unique_ptr<Backend>> make_rank_backend(const LoadOptions& options, Exchange& exchange,
                                                   const RankNeeds& needs);
// Whether every rank of this host has a GPU, assuming that all hosts are alike.
bool have_gpus(const LoadOptions& options, const Exchange& exchange);

}  // namespace realizar
