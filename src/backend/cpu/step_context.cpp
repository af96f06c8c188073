#include "backend/cpu/step_context.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace realizar::cpu {

void StepContext::configure(const BackendLimits& limits) {
  limits_ = limits;
  scratch_.configure(limits, team_.size());
}

Status StepContext::fit(const Plan& plan, size_t join_floats) {
  const size_t max_rows = limits_.max_rows, n_slots = max_rows * plan.scratch.n_used;
  const size_t n_head_slots = max_rows * plan.scratch.n_head_slots;
  const size_t n_indices = std::max({max_rows, size_t{limits_.max_logit_rows}, n_slots, n_head_slots});
  for (size_t i = identity_.size(); i < n_indices; ++i) identity_.push_back(static_cast<uint32_t>(i));
  if (plan.ops.size() > n_ops_) {
    n_ops_ = plan.ops.size();
    taken_ = std::make_unique<std::atomic<uint32_t>[]>(n_ops_ * kLoopsPerOp * team_.size());
  }
  ScratchSizes sizes = plan.scratch;
  sizes.join_floats = join_floats;
  return scratch_.fit(sizes);
}

void StepContext::begin(const Plan& plan, const StepBatch& batch) {
  REQUIRE(batch.n_rows() <= limits_.max_rows && batch.logit_rows.size() <= limits_.max_logit_rows);
  plan_ = &plan;
  batch_ = &batch;
  const auto is_decode = [&](uint32_t row) { return row < batch.n_decode_rows; };
  const auto n_logit_decode = std::count_if(batch.logit_rows.begin(), batch.logit_rows.end(), is_decode);
  all_rows_ = {identity_.data(), batch.n_decode_rows, batch.n_rows()};
  logit_rows_ = {identity_.data(), static_cast<uint32_t>(n_logit_decode),
                 static_cast<uint32_t>(batch.logit_rows.size())};
  for (size_t i = 0; i < plan.ops.size() * kLoopsPerOp * team_.size(); ++i) {
    taken_[i].store(0, std::memory_order_relaxed);
  }
}

const BatchSequence& StepContext::seq_of(uint32_t row) const {
  const auto after = std::upper_bound(batch_->seqs.begin(), batch_->seqs.end(), row,
                                      [](uint32_t r, const BatchSequence& seq) { return r < seq.first_row; });
  return *std::prev(after);
}

}  // namespace realizar::cpu
