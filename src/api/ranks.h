// The processes that share a model: rank 0 loads it like any other, and tells the others what to load. They share one
// model at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "api/rank_shares.h"
#include "backend/backend.h"
#include "backend/exchange.h"
#include "backend/ranks/rank_split.h"
#include "engine/engine_options.h"
#include "formats/model_file.h"
#include "model/model_config.h"
#include "realizar/options.h"
#include "realizar/result.h"

namespace realizar {

class Ranks {
 public:
  // Creates a rank's backend for its share of the model, which exchanges rows through `exchange`. `needs`: all 0 except
  // for GPUs.
  using MakeOwn = std::function<Result<std::unique_ptr<Backend>>(const LoadOptions& options, Exchange& exchange,
                                                                 const RankNeeds& needs)>;

  // `exchange` must outlive it, and have more than one rank.
  explicit Ranks(Exchange& exchange) : exchange_(exchange) {}
  Exchange& exchange() { return exchange_; }

  // On rank 0.

  // Makes the other ranks load the model as well, and returns the backend that represents all of them. Errors:
  // Unsupported, by name: options that ranks do not support, a model that they cannot share, or a second one at a time;
  // those of `make_own`.
  Result<std::unique_ptr<Backend>> begin_load(const ModelFile& file, const ModelConfig& config,
                                              const LoadOptions& options, const engine::EngineOptions& engine_options,
                                              const MakeOwn& make_own);
  // Call after that backend is destroyed.
  void release();
  // Call once this rank has loaded its share, or failed to: collects the results of all ranks. Errors: `own`; those of
  // other ranks, by their names; InvalidArgument if a rank's file, program or arithmetic differs.
  Status end_load(const Status& own, const Backend& backend);
  // Ends the other ranks, unless they still run a model.
  void end();

  // On the other ranks: loads and runs models until rank 0 ends. Errors: Internal if a rank is lost.
  Status follow(const MakeOwn& make_own);

 private:
  Result<std::unique_ptr<Backend>> tell_load(const ModelFile& file, const ModelConfig& config,
                                             const LoadOptions& options, const engine::EngineOptions& engine_options,
                                             const MakeOwn& make_own);
  Status load_and_follow(std::span<const std::byte> told, const MakeOwn& make_own);

  Exchange& exchange_;
  std::atomic<bool> is_shared_ = false;
};

// The backend on which one rank computes its share of a model. kAuto: the CPU. Errors: those of the chosen backend;
// InvalidArgument if a host has fewer GPUs than ranks, and none is named for all of them.
Result<std::unique_ptr<Backend>> make_rank_backend(const LoadOptions& options, Exchange& exchange,
                                                   const RankNeeds& needs);
// Whether every rank of this host has a GPU, assuming that all hosts are alike.
bool have_gpus(const LoadOptions& options, const Exchange& exchange);

}  // namespace realizar
