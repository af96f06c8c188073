// Planned launches of a device's commands: fused commands, and where the inputs of products are converted to int8 or
// split. Decided once, when the program is compiled.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/cuda/compile/command.h"
#include "backend/cuda/kernels/attention_shape.h"
#include "backend/cuda/weights/weights.h"

namespace realizar::cuda {

// Preparation that a product's input still needs: rows as int8, or prompt rows as sums of two.
struct Missing {
  bool quantized = false, split = false;
};

struct Launch {
  Command command;
  std::vector<LinearOp> more;                   // products that differ from the command only in matrix, bias and output
  Missing missing, second_missing;              // for the command's product, and for its second one (up, after gate)
  bool quantizes_out = false;                   // for norms: the next product reads their rows as int8
  bool is_paired = false;                       // gate and up are one launch, and quantizing combines their results
  uint32_t window_idx = 0;                      // index of attention's window in DeviceProgram::windows
  std::optional<uint32_t> streamed_layer = {};  // layer of its weights

  uint32_t n_commands() const { return 1 + static_cast<uint32_t>(more.size()); }
};

// A program's part on one device.
struct DeviceProgram {
  std::vector<std::vector<Launch>> stages;  // empty for stages of other devices
  std::vector<uint32_t> windows;            // distinct windows of attention, each with its own cut list
  AttentionHeads heads = kNoHeads;          // maximum over attention operations
};

// The launches of consecutive commands; also adds the windows and heads of their attention to `program`. No launch
// relies on rows prepared before these commands.
std::vector<Launch> plan_launches(std::span<const Command> commands, const Weights& weights, DeviceProgram& program);

}  // namespace realizar::cuda
