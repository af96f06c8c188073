// Launches of products: dots of single rows, tiles of prompt rows, and the preparation of their inputs.
#pragma once

#include "backend/cuda/compile/matrix_traits.h"
#include "backend/cuda/step/launchers/launch_context.h"

namespace realizar::cuda {

// Rows that are multiplied one by one, and their maximum number.
struct Dots {
  RowRange rows;
  uint32_t max_rows;
};
// A row's arithmetic depends on its phase: decode and logit rows are dots, prompt rows tiles, for types that have them.
Dots dots_of(const LaunchContext& context, const Matrix& weight, Rows rows);
// The kernel for prompt rows.
inline auto tile_kernel(const KernelTable& kernels, const Matrix& weight) {
  return has_groups(weight.type) ? kernels.linear_many : kernels.linear_split;
}
// Converts rows of an activation to int8, or splits them in two.
void quantize(LaunchContext& context, ActId in, uint32_t n_cols, Rows rows);
void split(LaunchContext& context, ActId in, const Matrix& weight, Rows rows);

class ProductLauncher {
 public:
  explicit ProductLauncher(LaunchContext& context) : context_(context), kernels_(context.kernels()) {}

  void run(const LinearOp& op, const Launch& launch);
  void run(const GatedLinearOp& op, const Launch& launch);

 private:
  void run_paired(const GatedLinearOp& op, const Launch& launch);
  void multiply(const LinearArgs& args, const Missing& missing, ActId in, Rows rows, ActId out);
  void multiply_tiles(LinearArgs& args);
  // The kernel for rows one by one.
  auto few_kernel(const Matrix& weight, uint32_t max_rows) const {
    if (wants_split(weight.type)) return kernels_.linear_few_split;
    return has_groups(weight.type) && max_rows > 1 ? kernels_.linear_few : kernels_.linear;
  }

  LaunchContext& context_;
  const KernelTable& kernels_;
};

}  // namespace realizar::cuda
