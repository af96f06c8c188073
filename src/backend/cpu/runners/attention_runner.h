// Attention: its tasks, and the merging of decode rows that were split into parts.
#pragma once

#include <vector>

#include "backend/cpu/attention.h"
#include "backend/cpu/runners/attention_units.h"
#include "backend/cpu/step_context.h"

namespace realizar::cpu {

class AttentionRunner {
 public:
  AttentionRunner(StepContext& step, const KvStore& cache) : step_(step), kernels_(step.kernels()), cache_(cache) {}

  void reserve(const Plan& plan);
  void begin_step();
  void run(const AttentionOp& op, const Hints& hints, uint32_t member);

 private:
  float* part(const AttentionOp& op, uint32_t idx, uint32_t group) const;
  void attend_rows(const AttentionOp& op, const AttentionUnits& units, const AttentionUnit& unit, uint32_t group,
                   uint32_t member) const;
  void attend_part(const AttentionOp& op, const AttentionUnit& unit, uint32_t group, uint32_t member) const;
  void merge_parts(const AttentionOp& op, const AttentionUnit& unit, uint32_t group) const;

  StepContext& step_;
  const KernelTable& kernels_;
  const KvStore& cache_;
  std::vector<AttentionUnits> units_;  // by index into Plan::unit_rows
};

}  // namespace realizar::cpu
