// Ranks that share a model within one process, each on its own thread: like MPI between processes, without it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/exchange.h"
#include "backend/ranks/rank_split.h"

namespace realizar::test {

using MakeOwn = std::function<Result<std::unique_ptr<Backend>>(Exchange* exchange)>;

// Rank 0's backend, connected to the others: each of them loads what it loads, and from the first program on they
// follow it. Errors: those of make_ranked_backend and of `make_own`.
Result<std::unique_ptr<Backend>> make_thread_ranks(uint32_t n_ranks, const ranks::RankOptions& options,
                                                   const MakeOwn& make_own);

// The exchanges of n ranks, by themselves. A message arrives when it is sent.
class ThreadExchanges {
 public:
  explicit ThreadExchanges(uint32_t n_ranks);
  ~ThreadExchanges();
  Exchange& of(uint32_t rank);
  // Makes all calls fail from now on, including running ones, as when a rank is lost.
  void lose(uint32_t rank);

 private:
  struct Hub;
  class One;
  std::unique_ptr<Hub> hub_;
  std::vector<std::unique_ptr<One>> ranks_;
};

}  // namespace realizar::test
