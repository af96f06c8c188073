// A step's batch in parts, which ranks that have layers of their own compute at the same time, each another one: no
// row's result depends on the part that it is in.
#pragma once

#include <vector>

#include "backend/step_batch.h"

namespace realizar::ranks {

class MicroBatches {
 public:
  // So many parts at most: split allocates nothing then. With bidirectional attention no prompt is cut.
  void reserve(uint32_t max_parts, uint32_t max_seqs, uint32_t max_logit_rows);
  // Parts of about as many rows each, and so few that each is worth reading the weights for. The batch must outlive
  // the parts.
  std::span<const StepBatch> split(const StepBatch& batch, bool cuts_prompts);
  // How many logit rows come before those of a part.
  uint32_t n_logit_rows_before(size_t part) const { return first_logit_row_[part]; }

 private:
  // A part has the sequences from first_seq of seqs_ on, whose rows end at end_row of the batch.
  void add_part(const StepBatch& batch, size_t first_seq, uint32_t first_row, uint32_t end_row);

  uint32_t max_parts_ = 1;
  std::vector<StepBatch> parts_;
  std::vector<uint32_t> first_logit_row_;
  std::vector<BatchSequence> seqs_;
  std::vector<uint32_t> logit_rows_;
};

}  // namespace realizar::ranks
