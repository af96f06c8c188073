// A step's batch in parts, on which ranks with separate layers work concurrently. Results do not depend on the parts.
#pragma once

#include <vector>

#include "backend/step_batch.h"

namespace realizar::ranks {

class MicroBatches {
 public:
  // Allows max_parts parts, which split then makes without allocating. With bidirectional attention, no prompt is cut.
  void reserve(uint32_t max_parts, uint32_t max_seqs, uint32_t max_logit_rows);
  // Parts of about equal size, each large enough to be worth reading the weights. The batch must outlive the parts.
  std::span<const StepBatch> split(const StepBatch& batch, bool cuts_prompts);
  // Number of logit rows before those of a part.
  uint32_t n_logit_rows_before(size_t part) const { return first_logit_row_[part]; }

 private:
  // Adds a part with the sequences of seqs_ from first_seq on, whose rows end at end_row of the batch.
  void add_part(const StepBatch& batch, size_t first_seq, uint32_t first_row, uint32_t end_row);

  uint32_t max_parts_ = 1;
  std::vector<StepBatch> parts_;
  std::vector<uint32_t> first_logit_row_;
  std::vector<BatchSequence> seqs_;
  std::vector<uint32_t> logit_rows_;
};

}  // namespace realizar::ranks
