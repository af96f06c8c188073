#include "backend/cuda/step/step_trace.h"

#include <chrono>

namespace realizar::cuda {

void StepTrace::begin(const StepBatch& batch, const KvLayout& layout) {
  batch_ = &batch;
  layout_ = layout;
  timings_.clear();
  marks_.clear();
  n_places_ = 0;
  device_ = nullptr;
  start_ns_ = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void StepTrace::enter(Device& device, const Weights& weights) {
  if (device_ == &device) return;
  device_ = &device;
  weights_ = &weights;
  device.mark_time(n_places_++);
}

void StepTrace::note(const Command& command) {
  const OpWork work = work_of(command);
  const OpPlace place = std::visit([](const auto& op) { return place_of(op); }, command);
  timings_.push_back(
      {kind_of(command), place, batch_->n_decode_rows == batch_->n_rows(), 0, 0, work.bytes, work.flops});
  marks_.push_back({device_, n_places_ - 1});
  device_->mark_time(n_places_++);
}

void StepTrace::finish() {
  uint64_t start_ns = start_ns_;
  for (uint32_t i = 0; i < timings_.size(); ++i) {
    timings_[i].start_ns = start_ns;
    timings_[i].duration_ns =
        static_cast<uint64_t>(marks_[i].device->ms_between(marks_[i].place, marks_[i].place + 1) * 1e6);
    start_ns += timings_[i].duration_ns;
  }
}

void StepTrace::add_product(WeightId id, uint64_t n_rows, uint64_t n_mats_read, OpWork& work) const {
  const Matrix& m = weights_->matrix(id);
  work.bytes += n_mats_read * weights_->matrix_bytes(id);
  work.flops += 2 * n_rows * m.n_rows * m.n_cols;
}

OpWork StepTrace::work_of(const Command& command) const {
  OpWork work;
  const uint64_t n_rows = batch_->n_rows();
  if (const auto* linear = std::get_if<LinearOp>(&command)) {
    add_product(linear->weight, linear->rows == Rows::kAll ? n_rows : batch_->logit_rows.size(), 1, work);
  }
  if (const auto* heads = std::get_if<HeadLinearOp>(&command)) {
    add_product(heads->weight, n_rows * heads->n_heads, heads->n_heads, work);
  }
  if (const auto* gated = std::get_if<GatedLinearOp>(&command)) {
    for (const WeightId id : {gated->gate, gated->up}) add_product(id, n_rows, 1, work);
  }
  if (const auto* experts = std::get_if<ExpertsOp>(&command)) {
    // The choice of experts stays on the device, so every row's experts count, even if rows share some.
    const uint64_t n_pairs = n_rows * experts->n_used;
    for (const WeightId id : {experts->gate, experts->up, experts->down}) add_product(id, n_pairs, n_pairs, work);
  }
  const auto rows_of = [&](Rows rows) { return rows == Rows::kAll ? n_rows : batch_->logit_rows.size(); };
  if (const auto* down = std::get_if<AdapterDownOp>(&command)) {
    add_product(down->down, rows_of(down->rows), n_adapters(*batch_), work);
  }
  if (const auto* up = std::get_if<AdapterUpOp>(&command)) {
    add_product(up->up, rows_of(up->rows), n_adapters(*batch_), work);
  }
  if (const auto* attention = std::get_if<AttentionOp>(&command))
    return attention_work(*attention, *batch_, layout_.type);
  return work;
}

}  // namespace realizar::cuda
