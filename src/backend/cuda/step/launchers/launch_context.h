// State shared by the launchers of a step: the device, a model's weights, and the step's memory.
#pragma once

#include "backend/cuda/compile/launch_plan.h"
#include "backend/cuda/step/step_memory.h"

namespace realizar::cuda {

class LaunchContext {
 public:
  // All must outlive it.
  LaunchContext(Device& device, const Weights& weights, StepMemory& memory)
      : device_(device), kernels_(device.kernels()), weights_(weights), memory_(memory) {}

  // After StepMemory::begin, for a step of at most this shape.
  void begin(const StepShape& shape) { shape_ = shape; }

  Device& device() { return device_; }
  Stream stream() const { return device_.stream(); }
  const KernelTable& kernels() const { return kernels_; }
  StepMemory& memory() { return memory_; }
  const Matrix& matrix(WeightId id) const { return weights_.matrix(id); }
  const float* vector(WeightId id) const { return weights_.vector(id); }  // null for kNoWeight
  const float* bias(WeightId id, WeightId weight) const { return weights_.bias(id, weight); }

  Activation2D act(ActId id) const { return memory_.act(id); }
  float* values(ActId id) const { return id == kNoAct ? nullptr : act(id).values; }
  float* hidden() const { return memory_.as<float>(Buffer::kHidden); }
  const StepShape& shape() const { return shape_; }
  const StepView& step() const { return memory_.input().view(); }
  RowRange prompt_rows() const { return {step().n_decode_rows, step().n_rows}; }
  uint32_t n_prompt_rows() const { return shape_.n_rows - shape_.n_decode_rows; }
  uint32_t max_rows(Rows rows) const { return rows == Rows::kAll ? shape_.n_rows : shape_.n_logit_rows; }
  const uint32_t* n_rows_at(Rows rows) const { return rows == Rows::kAll ? step().n_rows : step().n_logit_rows; }

 private:
  Device& device_;
  const KernelTable& kernels_;
  const Weights& weights_;
  StepMemory& memory_;
  StepShape shape_;
};

}  // namespace realizar::cuda
