#include "backend/cuda/stages.h"

#include <algorithm>

namespace realizar::cuda {

void Stages::reserve(uint32_t max_commands) {
  stages_.reserve(max_commands);
  crossings_.reserve(max_commands);
}

void Stages::begin_step() {
  stages_.clear();
  crossings_.clear();
  std::ranges::fill(holders_, kNobody);
}

void Stages::add(const Command& command, std::optional<uint32_t> rank) {
  const uint32_t chosen = rank.value_or(last_rank());
  const auto n_crossings = static_cast<uint32_t>(crossings_.size());
  const uint32_t idx = stages_.empty() ? 0 : stages_.back().end_command;
  if (stages_.empty() || chosen != last_rank()) stages_.push_back({chosen, idx, idx, n_crossings, n_crossings});
  ++stages_.back().end_command;
  if (n_ranks_ > 1) note(uses_of(command), stages_.back());
}

// What has crossed has the new place for its own from then on.
void Stages::note(const ActUses& uses, Stage& stage) {
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
