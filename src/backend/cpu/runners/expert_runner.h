// The chosen experts' feed-forward networks. Rows are grouped by expert, so that each chosen expert's weights are read
// once per step; each (row, rank) slot is computed separately, and the slots of a row are added in rank order.
#pragma once

#include <span>
#include <vector>

#include "backend/cpu/step_context.h"

namespace realizar::cpu {

class ExpertRunner {
 public:
  // A slot is one (row, rank) pair: row * n_used + rank.
  struct Group {
    uint32_t expert, first, n_decode, n_slots;  // experts held here; slots()[first ..], decode slots first
  };

  explicit ExpertRunner(StepContext& step) : step_(step), kernels_(step.kernels()) {}

  void reserve(const Plan& plan);
  void run(const ExpertsOp& op, const Hints&, uint32_t member);

  // The groups of the last operation, their slots, and the row of each slot.
  std::span<const Group> groups() const { return groups_; }
  std::span<const uint32_t> slots() const { return slots_; }
  std::span<const uint32_t> slot_rows() const { return slot_rows_; }

 private:
  void group_by_expert(const ExpertsOp& op);
  bool holds(const ExpertsOp& op, uint32_t expert) const {
    return expert >= op.first_expert && expert - op.first_expert < step_.matrix(op.down).n_mats;
  }
  bool has_mixed_forms(const ExpertsOp& op) const;
  void finish_rows(const ExpertsOp& op, WeightId bias, const Group& group, uint32_t first, uint32_t n,
                   float* rows) const;
  void make_gates(const ExpertsOp& op, const Group& group, PairRange pairs, uint32_t member) const;
  void make_hidden(const ExpertsOp& op, const Group& group, PairRange pairs, uint32_t member) const;
  void make_outputs(const ExpertsOp& op, const Group& group, PairRange pairs, uint32_t member) const;
  void add_outputs(const ExpertsOp& op, uint32_t row) const;

  StepContext& step_;
  const KernelTable& kernels_;
  std::vector<Group> groups_;
  std::vector<uint32_t> slots_, slot_rows_;
};

}  // namespace realizar::cpu
