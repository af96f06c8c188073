// Queries and keys before attention: norms of heads, rotations, and cache writes. The rotations of a step's positions
// stay in scratch for the next layers.
#pragma once

#include "backend/cpu/kv_store.h"
#include "backend/cpu/step_context.h"

namespace realizar::cpu {

class RopeRunner {
 public:
  RopeRunner(StepContext& step, const KvStore& cache) : step_(step), kernels_(step.kernels()), cache_(cache) {}

  void run(const RopeStoreOp& op, const Hints& hints, uint32_t member);
  void run(const LatentStoreOp& op, const Hints& hints, uint32_t member);

 private:
  void find_rotation(WeightId inv_freq, uint32_t n_rot, float scale, uint32_t row) const;
  float* rotation(uint32_t row) const;  // cosine and sine of each pair
  void normalize_heads(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm) const;
  void prepare_heads(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm, uint32_t row) const;

  StepContext& step_;
  const KernelTable& kernels_;
  const KvStore& cache_;
};

}  // namespace realizar::cpu
