// Attention of query rows over KV heads, as products with panels: scores = keys (a panel's rows are positions) times
// queries, outputs = values times weights, with a running softmax over pieces of kKvPiece positions. Pieces are cut at
// multiples of kKvPiece and processed in ascending order, so a row's result does not depend on the other rows.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/kv_store.h"
#include "backend/ops.h"

namespace realizar::cpu {

// Positions per part of a row. Results of parts are merged in ascending order, so that different threads may compute
// the parts of a decode row.
inline constexpr uint32_t kSplitPositions = 256;
constexpr uint32_t n_parts(uint32_t pos) {
  return pos / kSplitPositions + 1;
}

struct AttentionTask {
  const AttentionOp* op;
  std::span<const BlockId> blocks;
  const float* q;       // [n_rows, n_heads * head_dim]
  const float* slopes;  // [n_heads]; null: none
  uint32_t n_rows;
  uint32_t first_pos;              // of row 0; rows are consecutive
  uint32_t n_positions;            // of the sequence, after the step
  uint32_t first_group, n_groups;  // of query heads; one group for prefill
  bool prefill;                    // with prefill arithmetic
  uint32_t begin, end;             // positions to attend to, if visible to the row; begin is a multiple of kKvPiece
};

// head_dim of accumulators: pairs of tiles of 16.
constexpr uint32_t padded_head_dim(uint32_t head_dim) {
  return (head_dim + 31) / 32 * 32;
}
// Query heads that share loaded keys and values: those of a KV head, or 8 at a time of latents, which all heads read.
constexpr uint32_t group_of(const AttentionOp& op) {
  constexpr uint32_t kLatentGroup = 8;
  if (op.latent_dim > 0 && op.n_heads % kLatentGroup == 0) return kLatentGroup;
  return op.n_heads / op.n_kv_heads;
}
constexpr uint32_t n_groups(const AttentionOp& op) {
  return op.n_heads / group_of(op);
}
// Rows per task, so that its queries (rows times the heads that share a KV head) fill products of 12 or 32 rows.
constexpr uint32_t query_rows(const AttentionOp& op) {
  constexpr uint32_t kQueries = 96;
  const uint32_t group = group_of(op);
  return group < kQueries ? kQueries / group : 1;
}
constexpr uint32_t max_queries(const AttentionOp& op) {
  return query_rows(op) * group_of(op);
}

// Partial results for the queries of one group, row by row, head by head within a row: the softmax of each, and the
// weighted sums of values [padded_head_dim / 32, queries, 32], not yet divided by Softmax::sum.
struct AttentionSums {
  Softmax* states;
  float* values;
};
// Floats for the sums of `n` queries, and those sums in such memory.
constexpr size_t sums_floats(const AttentionOp& op, uint32_t n) {
  return size_t{n} * (sizeof(Softmax) / sizeof(float) + padded_head_dim(op.value_dim()));
}
inline AttentionSums sums_at(float* memory, uint32_t n) {
  return {reinterpret_cast<Softmax*>(memory), memory + size_t{n} * (sizeof(Softmax) / sizeof(float))};
}

// Floats of scratch per task, without its sums.
size_t attention_scratch(const AttentionOp& op);
// `sums` [n_groups] of sums_floats each.
void attend(const AttentionTask& task, const KernelTable& kernels, const KvStore& cache, float* sums, float* scratch);
// Merges sums of later positions into `sums`; both have n_queries.
void merge(const AttentionOp& op, uint32_t n_queries, AttentionSums sums, AttentionSums later);
// Writes the group's heads into out [n_rows, n_heads * value_dim()]. `sinks` [n_heads]; null: none.
void write_attention(const AttentionOp& op, uint32_t group, uint32_t n_rows, AttentionSums sums, const float* sinks,
                     float* out);

}  // namespace realizar::cpu
