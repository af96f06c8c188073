// Issues the kernels of a plan's launches, with the arguments of the step.
#pragma once

#include "backend/cuda/compile/launch_plan.h"
#include "backend/cuda/compile/matrix_traits.h"
#include "backend/cuda/step/kv_planes.h"
#include "backend/cuda/step/state_planes.h"
#include "backend/cuda/step/step_memory.h"

namespace realizar::cuda {

class Launcher {
 public:
  // All must outlive it.
  Launcher(Device& device, const Weights& weights, const KvPlanes& cache, const StatePlanes& states, StepMemory& memory)
      : device_(device),
        kernels_(device.kernels()),
        weights_(weights),
        cache_(cache),
        states_(states),
        memory_(memory) {}

  // After StepMemory::begin, for a step of at most this shape.
  void launch(const Launch& launch, const StepShape& shape);

 private:
  // launcher_rows.cpp
  void run(const EmbedOp& op, const Launch&);
  void run(const NormOp& op, const Launch& launch);
  void run(const RopeStoreOp& op, const Launch&);
  void run(const GateOp& op, const Launch&);
  void run(const CutOp& op, const Launch&);
  void run(const AltUpOp& op, const Launch&);
  void run(const LatentStoreOp& op, const Launch&);
  void run(const SelectRowsOp& op, const Launch&);
  void run(const ChooseOp& op, const Launch&);
  void run(const ClearOp& op, const Launch&);
  void run(const SumPartsOp& op, const Launch&);
  // These end stages (stages.h).
  void run(const JoinOp&, const Launch&) {}
  void run(const CollectOp&, const Launch&) {}
  void run(const SendOp&, const Launch&) {}
  void run(const ReceiveOp&, const Launch&) {}
  // launcher_products.cpp
  void run(const LinearOp& op, const Launch& launch);
  void run(const GatedLinearOp& op, const Launch& launch);
  void run_paired(const GatedLinearOp& op, const Launch& launch);
  void multiply(const LinearArgs& args, const Missing& missing, ActId in, Rows rows, ActId out);
  void multiply_tiles(LinearArgs& args);
  void quantize(ActId in, uint32_t n_cols, Rows rows);
  void split(ActId in, const Matrix& weight, Rows rows);
  // launcher_attention.cpp
  void run(const AttentionOp& op, const Launch& launch);
  void attend_decode_rows(AttentionArgs args, const Launch& launch);
  void attend_prompt_rows(AttentionArgs args);
  void attend_wide_rows(AttentionArgs args);
  // launcher_states.cpp
  void run(const ShortConvOp& op, const Launch&);
  void run(const StateScanOp& op, const Launch&);
  void run(const DeltaRuleOp& op, const Launch&);
  void run(const WkvOp& op, const Launch&);
  Columns columns(ActId id, uint32_t first_col) const { return {act(id).values, act(id).n_cols, first_col}; }
  uint32_t max_seqs() const;
  // launcher_adapters.cpp
  void run(const AdapterDownOp& op, const Launch&);
  void run(const AdapterUpOp& op, const Launch&);
  // launcher_experts.cpp
  void run(const HeadLinearOp& op, const Launch&);
  void run(const RouteOp& op, const Launch&);
  void run(const ExpertsOp& op, const Launch& launch);
  void multiply_experts(const ExpertsOp& op, WeightId weight, WeightId bias, const Missing& missing, Store store);
  void prepare_pairs(const float* in, uint32_t n_each, const Matrix& weight);
  void add_downs(const ExpertsOp& op);
  PairGroups pair_groups() const;

  // Rows that a matrix multiplies one by one, and the most that these can be.
  struct Dots {
    RowRange rows;
    uint32_t max_rows;
  };
  Dots dots_of(const Matrix& weight, Rows rows) const;
  // What multiplies these.
  auto few_kernel(const Matrix& weight, uint32_t max_rows) const {
    if (wants_split(weight.type)) return kernels_.linear_few_split;
    return has_groups(weight.type) && max_rows > 1 ? kernels_.linear_few : kernels_.linear;
  }
  // What multiplies a prompt's rows.
  auto tile_kernel(const Matrix& weight) const {
    return has_groups(weight.type) ? kernels_.linear_many : kernels_.linear_split;
  }

  Activation2D act(ActId id) const { return memory_.act(id); }
  const StepView& step() const { return memory_.input().view(); }
  RowRange prompt_rows() const { return {step().n_decode_rows, step().n_rows}; }
  uint32_t n_prompt_rows() const { return shape_.n_rows - shape_.n_decode_rows; }
  uint32_t max_rows(Rows rows) const { return rows == Rows::kAll ? shape_.n_rows : shape_.n_logit_rows; }
  const uint32_t* n_rows_at(Rows rows) const { return rows == Rows::kAll ? step().n_rows : step().n_logit_rows; }
  float* hidden() const { return memory_.as<float>(Buffer::kHidden); }

  Device& device_;
  const KernelTable& kernels_;
  const Weights& weights_;
  const KvPlanes& cache_;
  const StatePlanes& states_;
  StepMemory& memory_;
  StepShape shape_;
};

}  // namespace realizar::cuda
