#include "backend/op_work.h"

#include <algorithm>

#include "backend/kv_types.h"

namespace realizar {

OpWork attention_work(const AttentionOp& op, const StepBatch& batch, const KvLayout& cache) {
  OpWork work;
  const uint64_t vector_bytes = row_bytes(kv_traits(cache.type), cache.head_dim);
  for (const BatchSequence& seq : batch.seqs) {
    const uint64_t n_pos = static_cast<uint64_t>(seq.first_pos) + seq.n_rows;
    const uint64_t seen = op.window > 0 ? std::min<uint64_t>(n_pos, op.window + seq.n_rows) : n_pos;
    work.bytes += 2 * seen * cache.n_kv_heads * vector_bytes;
    work.flops += 4 * seq.n_rows * seen * op.n_heads * op.head_dim;
  }
  return work;
}

}  // namespace realizar
