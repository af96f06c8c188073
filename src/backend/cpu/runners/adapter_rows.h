// A step's rows, put together by the adapter of their sequences, so that an adapter's matrices are read once for
// several rows. Which rows are together never changes a result.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/step_batch.h"

namespace realizar::cpu {

// Some rows of one adapter, or of none.
struct AdapterBlock {
  static constexpr uint32_t kMaxRows = 16;

  uint32_t slot;           // BatchAdapter::kNone: they have none
  uint32_t first, n_rows;  // of AdapterRows::rows
};

class AdapterRows {
 public:
  void reserve(uint32_t max_rows);
  // Takes the rows of the step, or of its logits. Allocates nothing.
  void plan(const StepBatch& batch, bool of_logits);

  const std::vector<AdapterBlock>& blocks() const { return blocks_; }
  uint32_t row(uint32_t idx) const { return rows_[idx]; }
  float factor(uint32_t idx) const { return factors_[rows_[idx]]; }  // on what the row's adapter adds

 private:
  std::vector<uint32_t> rows_;   // by their adapters
  std::vector<uint32_t> slots_;  // of each row
  std::vector<float> factors_;   // of each row
  std::vector<AdapterBlock> blocks_;
};

}  // namespace realizar::cpu
