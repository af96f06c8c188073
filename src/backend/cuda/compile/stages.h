// A program's commands cut into stages: runs of commands for one device, and the activations that each needs of others;
// or runs for all devices, between which these bring each other their parts of sums. Where processes share a program,
// stages end where these exchange rows.
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "backend/cuda/compile/command.h"

namespace realizar::cuda {

// Each device's, or process's, part of an activation goes to all of them, for a SumPartsOp.
struct GatherParts {
  ActId part;
  bool operator==(const GatherParts&) const = default;
};
// The exchange after a stage's commands.
using StageEnd = std::variant<std::monostate, GatherParts, CollectOp, SendOp, ReceiveOp>;

struct Stage {
  uint32_t rank, n_ranks;                 // of the device, or the first of n_ranks
  uint32_t first_command, end_command;    // of the program's
  uint32_t first_crossing, end_crossing;  // of all crossings
  StageEnd end = {};
};

// An activation that another device has.
struct Crossing {
  ActId act;
  uint32_t from_rank;
};

class Stages {
  static constexpr uint32_t kNobody = 0xffffffffu;

 public:
  Stages(size_t n_ranks, size_t n_activations)
      : n_ranks_(static_cast<uint32_t>(n_ranks)), holders_(n_activations, kNobody) {}

  // The next command runs on the device that it needs, or else where the one before ran.
  void add(const Command& command, std::optional<uint32_t> rank);
  // The next command runs on all devices.
  void add_to_all();
  // The commands so far end a stage.
  void end_with(const StageEnd& end);

  std::span<const Stage> all() const { return stages_; }
  std::span<const Crossing> crossings(const Stage& stage) const {
    return std::span(crossings_).subspan(stage.first_crossing, stage.end_crossing - stage.first_crossing);
  }
  // The device that has an activation after the step.
  uint32_t rank_of(ActId act) const {
    const uint32_t holder = holders_[static_cast<uint32_t>(act)];
    return holder == kNobody ? 0 : holder;
  }
  // The device of the last command.
  uint32_t last_rank() const { return stages_.empty() ? 0 : stages_.back().rank; }

 private:
  bool has_ended() const { return stages_.empty() || !std::holds_alternative<std::monostate>(stages_.back().end); }
  void begin_stage(uint32_t rank, uint32_t n_ranks);
  void note(const CommandUses& uses, Stage& stage);

  uint32_t n_ranks_;
  std::vector<Stage> stages_;
  std::vector<Crossing> crossings_;
  std::vector<uint32_t> holders_;  // of each activation
};

}  // namespace realizar::cuda
