#include "backend/op_work.h"

#include <algorithm>

#include "backend/kv_types.h"

namespace realizar {

namespace {

// Positions that the rows from first_pos on attend to, summed over rows.
uint64_t n_seen(uint64_t first_pos, uint64_t n_rows, uint64_t window) {
  const auto causal = [&](uint64_t n) { return n * first_pos + n * (n + 1) / 2; };
  if (window == 0) return causal(n_rows);
  const uint64_t n_growing = std::min(n_rows, window - std::min(window, first_pos));
  return causal(n_growing) + (n_rows - n_growing) * window;
}

// n_seen for bidirectional attention with a window on either side.
uint64_t n_seen_bidirectional(uint64_t n_rows, uint64_t window) {
  if (window == 0 || window >= n_rows) return n_rows * n_rows;
  return n_rows * (2 * window - 1) - window * (window - 1);
}

}  // namespace

uint64_t n_adapters(const StepBatch& batch) {
  uint64_t n = 0;
  for (auto seq = batch.seqs.begin(); seq != batch.seqs.end(); ++seq) {
    const auto is_same = [&](const BatchSequence& other) { return other.adapter.slot == seq->adapter.slot; };
    n += seq->adapter.slot != BatchAdapter::kNone && std::none_of(batch.seqs.begin(), seq, is_same) ? 1 : 0;
  }
  return n;
}

OpWork attention_work(const AttentionOp& op, const StepBatch& batch, KvType type) {
  OpWork work;
  const uint64_t vector_bytes = row_bytes(kv_traits(type), op.head_dim);
  for (const BatchSequence& seq : batch.seqs) {
    const auto first_pos = static_cast<uint64_t>(seq.first_pos);
    const uint64_t n_pos = first_pos + seq.n_rows;
    const uint64_t n_read = op.window > 0 ? std::min<uint64_t>(n_pos, uint64_t{op.window} + seq.n_rows - 1) : n_pos;
    work.bytes += (op.latent_dim > 0 ? 1 : 2) * n_read * op.n_kv_heads * vector_bytes;
    const uint64_t n_pairs =
        op.is_bidirectional ? n_seen_bidirectional(seq.n_rows, op.window) : n_seen(first_pos, seq.n_rows, op.window);
    work.flops += 2 * n_pairs * op.n_heads * (op.head_dim + op.value_dim());
  }
  return work;
}

}  // namespace realizar
