// A device's commands as they are launched: which of them one launch makes together, and which rows are made int8, or
// split, for products on the way. Decided once, when the program is compiled.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/cuda/compile/command.h"
#include "backend/cuda/kernels/attention_shape.h"
#include "backend/cuda/weights/weights.h"

namespace realizar::cuda {

// What has to be made of a product's input before it can be read: rows as int8, or a prompt's rows as sums of two.
struct Missing {
  bool quantized = false, split = false;
};

struct Launch {
  Command command;
  std::vector<LinearOp> more;       // products that differ from the command in matrix, bias and output alone
  Missing missing, second_missing;  // for the command's product; for its second one (up, after gate)
  bool quantizes_out = false;       // by a norm: the next product reads its rows as int8
  bool is_paired = false;           // gate and up are one launch; whoever quantizes their results puts them together
  uint32_t window_idx = 0;          // attention's window, among DeviceProgram::windows
  std::optional<uint32_t> streamed_layer = {};  // that its weights are part of

  uint32_t n_commands() const { return 1 + static_cast<uint32_t>(more.size()); }
};

// A program's part on one device.
struct DeviceProgram {
  std::vector<std::vector<Launch>> stages;  // empty where the stage is another device's
  std::vector<uint32_t> windows;            // the different ones of attention, of which each has a list of cuts
  AttentionHeads heads = kNoHeads;          // the most that attention has
};

// The launches of commands that follow each other; the windows and heads of their attention are noted in `program`. No
// launch relies on rows that one before these commands prepared.
std::vector<Launch> plan_launches(std::span<const Command> commands, const Weights& weights, DeviceProgram& program);

}  // namespace realizar::cuda
