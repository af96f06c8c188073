// What the next step computes, and who runs: pure functions of the sequences and limits. Knows no model, device or
// clock.
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

// What a chunk's tokens are, which decides their arithmetic: that of prefill for a prompt, that of decoding for others.
enum class ChunkKind : uint8_t {
  kPrompt,
  kReplay,  // generated tokens that are computed again after a preemption
  kDecode,  // the newest token, and guesses of those after it
};

struct PlannedChunk {
  uint32_t seq_idx;
  uint32_t n_tokens;  // from position n_computed on
  ChunkKind kind;
  uint32_t n_logit_rows;     // of the chunk's last rows
  bool keeps_state = false;  // the state after it is to be found again

  bool is_prompt() const { return kind == ChunkKind::kPrompt; }
};

struct StepLimits {
  uint32_t max_rows = 0;            // of a step
  uint32_t max_logit_rows = 0;      // of a step
  uint32_t max_prefill_tokens = 0;  // prompt and replayed tokens of a step in which others decode
  bool whole_prompts = false;       // a prompt is in one step or in none
};

// Clears and fills `plan`, which has the capacity for all sequences: one token (and its drafts) of every decoding
// sequence; then, up to the limits, generated tokens that are computed again after a preemption; then prompt chunks, to
// which half of what is left is kept. The oldest prompt gets half of that, the shortest remainders the rest: a long
// prompt neither starves nor blocks the others. Decode rows come first. Prompts that are taken whole come in their
// order, as they fit.
void plan_step(std::span<const SequencePtr> running, const StepLimits& limits, std::vector<PlannedChunk>& plan);

// Where the next chunk of the prompt has to end at the latest: at its end, or where a state is to be kept, also for
// those of the running that wait for it. So which states there are does not depend on the sizes of chunks.
uint32_t stop_of(const Sequence& seq, std::span<const SequencePtr> running);

// What the next step could compute, and what a planned one does, as the budget counts it.
StepDemand demand_of(std::span<const SequencePtr> running, size_t n_waiting);
StepWork work_of(std::span<const PlannedChunk> plan);

// Index of the waiting sequence that is admitted next. The tenant that was served least has its turn, where several are
// level the one that waits longest; of its requests by priority, then what was preempted, then arrival. With kAll by
// priority, then what was preempted, and only then the tenant that was served least. `waiting` is not empty.
size_t pick_next(std::span<const SequencePtr> waiting, const FairShare& shares, PriorityScope scope);

// Index of the running sequence that gives its blocks back: of the tenant that runs most requests, where several run as
// many the one that came last, the least important request, and of those the youngest. With kAll the least important of
// all. `running` is not empty.
size_t pick_victim(std::span<const SequencePtr> running, const FairShare& shares, PriorityScope scope);

// Index of the waiting sequence that is admitted before all others, and gets its place and blocks from others if need
// be: the next one of a tenant that runs less than its share, and `can_have_room`. Of several such tenants the one that
// was served least. nullopt: there is none.
std::optional<size_t> pick_claimant(std::span<const SequencePtr> waiting, const FairShare& shares,
                                    const std::function<bool(const Sequence&)>& can_have_room);

// Blocks that only a tenant's running sequences hold, each of them by itself.
uint64_t n_blocks_of(std::span<const SequencePtr> running, uint64_t tenant);
// The sum of what tenants hold so beyond a share.
uint64_t n_beyond_share(std::span<const SequencePtr> running, uint64_t share);

// Index of the running sequence whose blocks go to a tenant below its share: of the tenant that holds most the least
// important request, and of those the youngest.
size_t pick_block_victim(std::span<const SequencePtr> running);

// Index of the waiting sequence that ends where more than n_total requests are here: the least important and newest,
// not begun yet, of the tenant that has most requests, if those are more than its share. nullopt: there is none.
std::optional<size_t> pick_shed(std::span<const SequencePtr> waiting, const FairShare& shares, uint64_t n_total);

}  // namespace realizar::engine
