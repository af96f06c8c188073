// Launches for pairs of a row and an expert or head: decode rows one by one, prompt rows grouped by expert or head.
#pragma once

#include "backend/cuda/step/launchers/launch_context.h"

namespace realizar::cuda {

class ExpertLauncher {
 public:
  explicit ExpertLauncher(LaunchContext& context) : context_(context), kernels_(context.kernels()) {}

  void run(const HeadLinearOp& op, const Launch&);
  void run(const RouteOp& op, const Launch&);
  void run(const ExpertsOp& op, const Launch& launch);

 private:
  void multiply_experts(const ExpertsOp& op, WeightId weight, WeightId bias, const Missing& missing, Store store);
  void prepare_pairs(const float* in, uint32_t n_each, const Matrix& weight);
  void add_downs(const ExpertsOp& op);
  PairGroups pair_groups() const;

  LaunchContext& context_;
  const KernelTable& kernels_;
};

}  // namespace realizar::cuda
