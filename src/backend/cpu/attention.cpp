#include "backend/cpu/attention.h"

#include <algorithm>
#include <cmath>

namespace realizar {
namespace {

void load_vector(const std::byte* from, KvType type, uint32_t n, const KernelTable& kernels, float* to) {
  switch (type) {
    case KvType::kF16:
      return kernels.from_f16(reinterpret_cast<const uint16_t*>(from), n, to);
    case KvType::kBF16:
      return kernels.from_bf16(reinterpret_cast<const uint16_t*>(from), n, to);
    case KvType::kF32:
    case KvType::kQ8_0:
      return kv_traits(type).decode(from, to, n);
  }
}

struct Softmax {
  float max = -INFINITY, sum = 0;
};

// Folds one piece into a query's running softmax; weights holds the scores and is overwritten.
void merge_piece(Softmax& state, float* weights, uint32_t n, const float* values, uint32_t head_dim,
                 const KernelTable& kernels, float* mixed) {
  const float max = std::max(state.max, *std::max_element(weights, weights + n));
  float correction = state.max - max;
  kernels.map(MapKind::kExp, &correction, 1);
  if (state.max == -INFINITY) correction = 0;
  for (uint32_t i = 0; i < n; ++i) weights[i] -= max;
  kernels.map(MapKind::kExp, weights, n);
  state = {max, state.sum * correction + kernels.sum(weights, n)};
  if (correction != 1.0f) kernels.scale(correction, mixed, head_dim);
  for (uint32_t i = 0; i < n; ++i) kernels.axpy(weights[i], values + size_t{i} * head_dim, mixed, head_dim);
}

}  // namespace

size_t attention_scratch(uint32_t n_heads, uint32_t n_kv_heads, uint32_t head_dim) {
  const size_t n_queries = size_t{kQueryRows} * (n_heads / n_kv_heads);
  return size_t{2} * kKvPiece * head_dim + kKvPiece + n_queries * 2;
}

void attend(const AttentionTask& task, const KernelTable& kernels, const KvStore& cache, float* scratch) {
  const AttentionOp& op = *task.op;
  const uint32_t dim = op.head_dim, group = op.n_heads / op.n_kv_heads, stride = op.n_heads * dim;
  float* keys = scratch;
  float* values = keys + size_t{kKvPiece} * dim;
  float* weights = values + size_t{kKvPiece} * dim;
  auto* states = reinterpret_cast<Softmax*>(weights + kKvPiece);
  const uint32_t head0 = task.kv_head * group;
  std::fill_n(states, size_t{task.n_rows} * group, Softmax{});
  for (uint32_t r = 0; r < task.n_rows; ++r) {
    std::fill_n(task.out + size_t{r} * stride + size_t{head0} * dim, size_t{group} * dim, 0.0f);
  }
  const auto first_seen = [&](uint32_t pos) { return op.window > 0 && pos + 1 > op.window ? pos + 1 - op.window : 0; };
  const uint32_t end = task.first_pos + task.n_rows;
  for (uint32_t p = first_seen(task.first_pos) / kKvPiece * kKvPiece; p < end; p += kKvPiece) {
    const uint32_t piece_begin = std::max(p, first_seen(task.first_pos)), piece_end = std::min(p + kKvPiece, end);
    for (uint32_t pos = piece_begin; pos < piece_end; ++pos) {
      const KvType type = cache.layout().type;
      load_vector(cache.key(task.blocks, op.layer, task.kv_head, pos), type, dim, kernels, keys + (pos - p) * dim);
      load_vector(cache.value(task.blocks, op.layer, task.kv_head, pos), type, dim, kernels, values + (pos - p) * dim);
    }
    for (uint32_t r = 0; r < task.n_rows; ++r) {
      const uint32_t row_pos = task.first_pos + r;
      const uint32_t from = std::max(p, first_seen(row_pos)), to = std::min(p + kKvPiece, row_pos + 1);
      if (from >= to) continue;
      for (uint32_t g = 0; g < group; ++g) {
        const size_t at = size_t{r} * stride + (size_t{head0} + g) * dim;
        for (uint32_t pos = from; pos < to; ++pos) {
          weights[pos - from] = op.scale * kernels.dot_f32(task.q + at, keys + (pos - p) * dim, dim);
        }
        if (op.softcap > 0) {
          kernels.scale(1.0f / op.softcap, weights, to - from);
          kernels.map(MapKind::kTanh, weights, to - from);
          kernels.scale(op.softcap, weights, to - from);
        }
        merge_piece(states[r * group + g], weights, to - from, values + (from - p) * dim, dim, kernels, task.out + at);
      }
    }
  }
  for (uint32_t r = 0; r < task.n_rows; ++r) {
    for (uint32_t g = 0; g < group; ++g) {
      kernels.scale(1.0f / states[r * group + g].sum, task.out + size_t{r} * stride + (size_t{head0} + g) * dim, dim);
    }
  }
}

}  // namespace realizar
