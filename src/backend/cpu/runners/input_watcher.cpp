#include "backend/cpu/runners/input_watcher.h"

namespace realizar::cpu {

void InputWatcher::show(const LinearOp& op) {
  show_rows(op.in, op.weight, step_.row_list(op.rows));
}

void InputWatcher::show(const GatedLinearOp& op) {
  show_rows(op.in, op.gate, step_.row_list(Rows::kAll));
  show_rows(op.in, op.up, step_.row_list(Rows::kAll));
}

void InputWatcher::show(const HeadLinearOp& op) {
  for (uint32_t head = 0; head < op.n_heads; ++head) {
    inputs_.clear();
    for (uint32_t r = 0; r < step_.batch().n_rows(); ++r) {
      inputs_.push_back(step_.act(op.in, r) + size_t{head} * op.in_width);
    }
    report(op.weight, head);
  }
}

void InputWatcher::show(const ExpertsOp& op) {
  for (const ExpertRunner::Group& group : experts_.groups()) {
    inputs_.clear();
    for (const uint32_t row : experts_.slot_rows().subspan(group.first, group.n_slots)) {
      inputs_.push_back(step_.act(op.in, row));
    }
    report(op.gate, group.expert);
    report(op.up, group.expert);
    inputs_.clear();
    for (const uint32_t slot : experts_.slots().subspan(group.first, group.n_slots)) {
      inputs_.push_back(step_.scratch().hidden() + size_t{slot} * step_.matrix(op.down).n_cols);
    }
    report(op.down, group.expert);
  }
}

void InputWatcher::show_rows(ActId in, WeightId weight, const RowList& list) {
  inputs_.clear();
  for (uint32_t r = 0; r < list.n_rows; ++r) inputs_.push_back(step_.act(in, r));
  report(weight, 0);
}

void InputWatcher::report(WeightId weight, uint32_t mat_idx) {
  const PackedMatrix& m = step_.matrix(weight);
  on_input_({step_.weights().name(weight), mat_idx, m.n_mats, m.n_cols, inputs_});
}

}  // namespace realizar::cpu
