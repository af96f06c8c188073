// What matrices are multiplied by, for whoever measures it. The rows are where the operation has left them.
#include "backend/cpu/walker.h"

namespace realizar::cpu {

void Walker::show(WeightId weight, uint32_t mat_idx) {
  const PanelMatrix& m = matrix(weight);
  on_input_({weights_.name(weight), mat_idx, m.n_mats, m.n_cols, inputs_});
}

void Walker::show_rows(ActId in, WeightId weight, const RowList& list) {
  inputs_.clear();
  for (uint32_t r = 0; r < list.n_rows; ++r) inputs_.push_back(act(in, r));
  show(weight, 0);
}

void Walker::show_inputs(const LinearOp& op) {
  show_rows(op.in, op.weight, row_list(op.rows));
}

void Walker::show_inputs(const GatedLinearOp& op) {
  show_rows(op.in, op.gate, row_list(Rows::kAll));
  show_rows(op.in, op.up, row_list(Rows::kAll));
}

void Walker::show_inputs(const HeadLinearOp& op) {
  for (uint32_t head = 0; head < op.n_heads; ++head) {
    inputs_.clear();
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) {
      inputs_.push_back(act(op.in, r) + size_t{head} * op.in_width);
    }
    show(op.weight, head);
  }
}

void Walker::show_inputs(const ExpertsOp& op) {
  for (const ExpertGroup& group : groups_) {
    inputs_.clear();
    for (uint32_t i = group.first; i < group.first + group.n_slots; ++i) inputs_.push_back(act(op.in, slot_rows_[i]));
    show(op.gate, group.expert);
    show(op.up, group.expert);
    inputs_.clear();
    for (uint32_t i = group.first; i < group.first + group.n_slots; ++i) {
      inputs_.push_back(scratch_.hidden() + size_t{slots_[i]} * matrix(op.down).n_cols);
    }
    show(op.down, group.expert);
  }
}

}  // namespace realizar::cpu
