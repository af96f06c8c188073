// Computes finished answers again while the engine is idle, as parts of a prompt, so that the next turns of their chats
// find them cached. That is for backends whose prefill has an arithmetic of its own: elsewhere an answer's blocks serve
// as they are. A later prompt gives the same tokens either way. One thread, the engine's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/counters.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "kv/block_pool.h"

namespace realizar::engine {

class IdlePrefill {
 public:
  // `pools` and `counters` must outlive it. Not wanted: it remembers nothing.
  IdlePrefill(kv::CachePools pools, uint32_t max_rows, bool is_wanted, EngineCounters& counters);

  // What is kept of a finished sequence.
  struct Answer {
    std::vector<TokenId> tokens;  // of the prompt and what was generated
    uint32_t n_prompt = 0;
    uint64_t cache_salt = 0, tenant = 0;
  };
  // Whether its answer is worth it: it has a block's worth of tokens at least, and no adapter, which may be gone by
  // then.
  bool wants(const Sequence& ended) const;
  // Allocates nothing. Of more than kMaxAnswers the oldest is forgotten.
  void remember(Answer answer);
  // Forgets all answers, or a tenant's.
  void forget(std::optional<uint64_t> tenant);
  bool has_work() const { return !answers_.empty(); }

  // What is computed next: one chunk of sequence(), for which there are blocks. nullopt: nothing is left.
  std::optional<PlannedChunk> plan();
  std::span<const SequencePtr> sequence() const { return {&sequence_, sequence_ != nullptr ? 1u : 0u}; }
  // The chunk was computed, in `ms`.
  void take(const PlannedChunk& chunk, double ms);
  // Gives the blocks back, some of which can be found; plan goes on from there.
  void pause();

 private:
  static constexpr size_t kMaxAnswers = 64;
  // A request that comes waits for a step that has begun: for this long, or for this many rows where they take longer,
  // since unpacking all weights for fewer would be a waste.
  static constexpr double kStepMs = 50;
  static constexpr uint32_t kMinRows = 64;

  bool open(Answer& answer);
  void close();

  const kv::CachePools pools_;
  const uint32_t max_rows_;
  const bool is_wanted_;
  EngineCounters& counters_;
  std::vector<Answer> answers_;  // the newest last, which is computed first
  Request request_;              // of nobody
  SequencePtr sequence_;         // has the tokens of the newest answer while it is computed; else null
  uint32_t n_rows_;              // of the next step
};

}  // namespace realizar::engine
