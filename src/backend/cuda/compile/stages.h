// A program's commands divided into stages: runs of commands for one device, with the activations that each needs from
// others; or runs for all devices, which exchange parts of sums in between. Where processes share a program, stages
// also end where these exchange rows.
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "backend/cuda/compile/command.h"

namespace realizar::cuda {

// Sends each device's, or process's, part of an activation to all of them, for a SumPartsOp.
struct GatherParts {
  ActId part;
  bool operator==(const GatherParts&) const = default;
};
// The exchange after a stage's commands.
using StageEnd = std::variant<std::monostate, GatherParts, CollectOp, SendOp, ReceiveOp>;

struct Stage {
  uint32_t rank, n_ranks;                 // of one device, or the first of n_ranks
  uint32_t first_command, end_command;    // in the program
  uint32_t first_crossing, end_crossing;  // in all crossings
  StageEnd end = {};
};

// An activation held by another device.
struct Crossing {
  ActId act;
  uint32_t from_rank;
};

class Stages {
  static constexpr uint32_t kNobody = 0xffffffffu;

 public:
  Stages(size_t n_ranks, size_t n_activations)
      : n_ranks_(static_cast<uint32_t>(n_ranks)), holders_(n_activations, kNobody) {}

  // Adds a command on the required device, or on that of the previous command.
  void add(const Command& command, std::optional<uint32_t> rank);
  // Adds a command on all devices.
  void add_to_all();
  // Ends a stage after the commands so far.
  void end_with(const StageEnd& end);

  std::span<const Stage> all() const { return stages_; }
  std::span<const Crossing> crossings(const Stage& stage) const {
    return std::span(crossings_).subspan(stage.first_crossing, stage.end_crossing - stage.first_crossing);
  }
  // The device that holds an activation after the step.
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
  std::vector<uint32_t> holders_;  // per activation
};

}  // namespace realizar::cuda
