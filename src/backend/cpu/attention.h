// Attention of a block of query rows over one KV head: the cache is read in pieces of kKvPiece positions, cut at
// multiples of it, and merged in rising order, so a row's result does not depend on the rows beside it.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/kv_store.h"
#include "backend/ops.h"

namespace realizar {

struct AttentionTask {
  const AttentionOp* op;
  std::span<const BlockId> blocks;
  const float* q;  // [n_rows, n_heads * head_dim]
  float* out;      // the same shape
  uint32_t n_rows;
  uint32_t first_pos;  // of row 0; rows follow one another
  uint32_t kv_head;
};

inline constexpr uint32_t kQueryRows = 16;  // rows a task

// Floats of scratch that one task needs.
size_t attention_scratch(uint32_t n_heads, uint32_t n_kv_heads, uint32_t head_dim);
void attend(const AttentionTask& task, const KernelTable& kernels, const KvStore& cache, float* scratch);

}  // namespace realizar
