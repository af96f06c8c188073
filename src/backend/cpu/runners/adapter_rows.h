// A step's rows, grouped by adapter, so that its matrices are read once for several rows. Results do not depend on it.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/step_batch.h"

namespace realizar::cpu {

// Some rows with one adapter, or without.
struct AdapterBlock {
  static constexpr uint32_t kMaxRows = 16;

  uint32_t slot;           // BatchAdapter::kNone: without an adapter
  uint32_t first, n_rows;  // in AdapterRows::rows
};

class AdapterRows {
 public:
  void reserve(uint32_t max_rows);
  // Groups the rows of the step, or its logit rows. Allocates nothing.
  void plan(const StepBatch& batch, bool of_logits);

  const std::vector<AdapterBlock>& blocks() const { return blocks_; }
  uint32_t row(uint32_t idx) const { return rows_[idx]; }
  float factor(uint32_t idx) const { return factors_[rows_[idx]]; }  // factor on the output of the row's adapter

 private:
  std::vector<uint32_t> rows_;   // by adapter
  std::vector<uint32_t> slots_;  // per row
  std::vector<float> factors_;   // per row
  std::vector<AdapterBlock> blocks_;
};

}  // namespace realizar::cpu
