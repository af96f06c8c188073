// Decides what the next step computes and which sequences run: pure functions of the sequences and limits. Knows no
// model, device or clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/fair_share.h"
#include "engine/sequence.h"
#include "engine/step_budget.h"

namespace realizar::engine {

// The kind of a chunk's tokens, which decides their arithmetic: prefill for a prompt, decoding for the others.
enum class ChunkKind : uint8_t {
  kPrompt,
  kReplay,  // generated tokens that are recomputed after a preemption
  kDecode,  // the newest token, and speculative tokens after it
};

struct PlannedChunk {
  uint32_t seq_idx;
  uint32_t n_tokens;  // from position n_computed on
  ChunkKind kind;
  uint32_t n_logit_rows;     // the chunk's last rows
  bool keeps_state = false;  // the state after it is kept for later prefixes

  bool is_prompt() const { return kind == ChunkKind::kPrompt; }
};

struct StepLimits {
  uint32_t max_rows = 0;            // in a step
  uint32_t max_logit_rows = 0;      // in a step
  uint32_t max_prefill_tokens = 0;  // prompt and replayed tokens in a step in which others decode
  bool whole_prompts = false;       // a prompt is in one step or in none
};

// Clears and fills `plan`, which has the capacity for all sequences: one token (and its speculative ones) of every
// decoding sequence; then, up to the limits, generated tokens that are recomputed after a preemption; then prompt
// chunks, for which half of the remaining room is kept. The oldest prompt gets half of that, the shortest remainders
// the rest: a long prompt neither starves nor blocks the others. Decode rows come first. Whole prompts are taken in
// order, as they fit.
void plan_step(std::span<const SequencePtr> running, const StepLimits& limits, std::vector<PlannedChunk>& plan);

// The latest end of the prompt's next chunk: its end, or a position whose state is to be kept, also for running
// sequences that wait for it. Thus the set of states does not depend on the sizes of chunks.
uint32_t next_chunk_boundary(const Sequence& seq, std::span<const SequencePtr> running);

// The work that the next step could do, and the work of a planned step, in the budget's terms.
StepDemand demand_of(std::span<const SequencePtr> running, size_t n_waiting);
StepWork work_of(std::span<const PlannedChunk> plan);

// Index of the waiting sequence to admit next. The tenant that was served least has its turn, and among equals the one
// that has waited longest; of its requests by priority, then preempted ones, then arrival. With kAll by priority, then
// preempted ones, and only then the tenant that was served least. `waiting` is not empty.
size_t pick_next(std::span<const SequencePtr> waiting, const FairShare& shares, PriorityScope scope);

// Index of the running sequence that gives up its blocks: it belongs to the tenant that runs most requests, or among
// equals to the one that came last; it is the least important request of that tenant, and among equals the youngest.
// With kAll it is the least important of all. `running` is not empty.
size_t pick_victim(std::span<const SequencePtr> running, const FairShare& shares, PriorityScope scope);

// Index of the waiting sequence that is admitted before all others, and gets a slot and blocks from others if needed:
// the next one of a tenant that runs less than its share, if `can_have_room`. If there are several such tenants, the
// one that was served least. nullopt: none.
std::optional<size_t> pick_claimant(std::span<const SequencePtr> waiting, const FairShare& shares,
                                    const std::function<bool(const Sequence&)>& can_have_room);

// Blocks that only a tenant's running sequences hold, each of them alone.
uint64_t n_blocks_of(std::span<const SequencePtr> running, uint64_t tenant);
// The sum of the tenants' holdings, by that count, beyond a share.
uint64_t n_beyond_share(std::span<const SequencePtr> running, uint64_t share);

// Index of the running sequence whose blocks go to a tenant below its share: the least important request of the tenant
// that holds most, and among equals the youngest.
size_t pick_block_victim(std::span<const SequencePtr> running);

// Index of the waiting sequence that ends if there are more than n_total requests: the least important and newest, not
// begun yet, of the tenant that has most requests, if those exceed its share. nullopt: none.
std::optional<size_t> pick_shed(std::span<const SequencePtr> waiting, const FairShare& shares, uint64_t n_total);

}  // namespace realizar::engine
