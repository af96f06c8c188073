#include "backend/cuda/compile/stages.h"

namespace realizar::cuda {

void Stages::add(const Command& command, std::optional<uint32_t> rank) {
  const uint32_t chosen = rank.value_or(last_rank());
  if (has_ended() || chosen != last_rank()) begin_stage(chosen, 1);
  ++stages_.back().end_command;
  if (n_ranks_ > 1) note(uses_of(command), stages_.back());
}

void Stages::add_to_all() {
  if (has_ended()) begin_stage(0, n_ranks_);
  ++stages_.back().end_command;
}

// Consecutive exchanges have a stage without commands in between.
void Stages::end_with(const StageEnd& end) {
  if (has_ended()) begin_stage(last_rank(), 1);
  stages_.back().end = end;
}

void Stages::begin_stage(uint32_t rank, uint32_t n_ranks) {
  const uint32_t idx = stages_.empty() ? 0 : stages_.back().end_command;
  const auto n_crossings = static_cast<uint32_t>(crossings_.size());
  stages_.push_back({rank, n_ranks, idx, idx, n_crossings, n_crossings});
}

// After a crossing the receiving device holds the activation.
void Stages::note(const CommandUses& uses, Stage& stage) {
  for (const ActId act : uses.read) {
    if (act == kNoAct) continue;
    uint32_t& holder = holders_[static_cast<uint32_t>(act)];
    if (holder == kNobody || holder == stage.rank) continue;
    crossings_.push_back({act, holder});
    holder = stage.rank;
  }
  for (const ActId act : uses.written) {
    if (act != kNoAct) holders_[static_cast<uint32_t>(act)] = stage.rank;
  }
  stage.end_crossing = static_cast<uint32_t>(crossings_.size());
}

}  // namespace realizar::cuda
