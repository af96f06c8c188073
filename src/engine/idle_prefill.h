// Recomputes finished answers as parts of a prompt while the engine is idle, so that the next turns of their chats find
// them cached. For backends whose prefill has its own arithmetic: elsewhere an answer's blocks are usable as they are.
// A later prompt gives the same tokens either way. One thread, the engine's.
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

  // The remembered part of a finished sequence.
  struct Answer {
    std::vector<TokenId> tokens;  // of the prompt and the answer
    uint32_t n_prompt = 0;
    uint64_t cache_salt = 0, tenant = 0;
  };
  // Whether its answer is worth recomputing: it has at least a block of tokens, and no adapter, which may be unloaded
  // by then.
  bool wants(const Sequence& ended) const;
  // Allocates nothing. Beyond kMaxAnswers, the oldest answer is forgotten.
  void remember(Answer answer);
  // Forgets all answers, or a tenant's.
  void forget(std::optional<uint64_t> tenant);
  bool has_work() const { return !answers_.empty(); }

  // The next chunk of sequence(), for which there are blocks. nullopt: nothing is left.
  std::optional<PlannedChunk> plan();
  std::span<const SequencePtr> sequence() const { return {&sequence_, sequence_ != nullptr ? 1u : 0u}; }
  // The chunk was computed, in `ms`.
  void take(const PlannedChunk& chunk, double ms);
  // Releases the blocks, some of which stay cached; plan continues from there.
  void pause();

 private:
  static constexpr size_t kMaxAnswers = 64;
  // A new request waits for a step that has begun: for this long, or for this many rows if they take longer, since it
  // would be wasteful to unpack all weights for fewer.
  static constexpr double kStepMs = 50;
  static constexpr uint32_t kMinRows = 64;

  bool open(Answer& answer);
  void close();

  const kv::CachePools pools_;
  const uint32_t max_rows_;
  const bool is_wanted_;
  EngineCounters& counters_;
  std::vector<Answer> answers_;  // the newest is last and is computed first
  Request request_;              // a placeholder
  SequencePtr sequence_;         // holds the tokens of the newest answer while it is computed; else null
  uint32_t n_rows_;              // of the next step
};

}  // namespace realizar::engine
