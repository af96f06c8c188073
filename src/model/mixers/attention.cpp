#include "model/mixers/attention.h"

#include <vector>

#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {
namespace {

uint32_t n_q(const AttentionConfig& c) {
  return c.n_heads * c.head_dim;
}

uint32_t n_kv(const AttentionConfig& c) {
  return c.n_kv_heads * c.head_dim;
}

// Stored pairs (2i, 2i + 1) become (i, i + n_interleaved / 2): the rotation is then the same for every file. q and k
// are permuted alike, so their products stay.
std::vector<uint32_t> row_order(const AttentionConfig& c, uint32_t n_heads) {
  if (c.n_interleaved == 0) return {};
  const uint32_t half = c.n_interleaved / 2;
  std::vector<uint32_t> order(n_heads * c.head_dim);
  for (uint32_t row = 0; row < order.size(); ++row) {
    const uint32_t dim = row % c.head_dim;
    const uint32_t stored = dim < half ? 2 * dim : dim < 2 * half ? 2 * (dim - half) + 1 : dim;
    order[row] = row - dim + stored;
  }
  return order;
}

std::vector<float> permuted(const std::vector<float>& values, const std::vector<uint32_t>& order) {
  if (order.empty() || values.empty()) return values;
  std::vector<float> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) result[i] = values[order[i]];
  return result;
}

// The queries of one KV head.
uint32_t query_unit(const AttentionConfig& c) {
  return c.n_heads / c.n_kv_heads * c.head_dim;
}

Status bind_fused(const AttentionConfig& c, TensorBinder& tensors, AttentionWeights& w) {
  const auto q_order = row_order(c, c.n_heads), k_order = row_order(c, c.n_kv_heads);
  RZ_TRY(const auto parts, tensors.split_matrix(Role::kWqkv, {{n_q(c), q_order, query_unit(c)},
                                                              {n_kv(c), k_order, c.head_dim},
                                                              {n_kv(c), {}, c.head_dim}}));
  w.wq = parts[0], w.wk = parts[1], w.wv = parts[2];
  RZ_TRY(const auto bias, tensors.values(Role::kBqkv));
  if (bias.empty()) return {};
  const auto k = bias.begin() + n_q(c), v = k + n_kv(c);
  RZ_TRY(w.bq, tensors.upload(permuted({bias.begin(), k}, q_order)));
  RZ_TRY(w.bk, tensors.upload(permuted({k, v}, k_order)));
  RZ_TRY(w.bv, tensors.upload({v, bias.end()}));
  return {};
}

Status bind_apart(const AttentionConfig& c, TensorBinder& tensors, AttentionWeights& w) {
  const auto q_order = row_order(c, c.n_heads), k_order = row_order(c, c.n_kv_heads);
  RZ_TRY(w.wq, tensors.matrix(Role::kWq, q_order, query_unit(c)));
  RZ_TRY(w.wk, tensors.matrix(Role::kWk, k_order, c.head_dim));
  RZ_TRY(w.wv, tensors.matrix(Role::kWv, {}, c.head_dim));
  RZ_TRY(const auto bq, tensors.values(Role::kBq));
  RZ_TRY(const auto bk, tensors.values(Role::kBk));
  RZ_TRY(w.bq, tensors.upload(permuted(bq, q_order)));
  RZ_TRY(w.bk, tensors.upload(permuted(bk, k_order)));
  RZ_TRY(w.bv, tensors.vector(Role::kBv));
  return {};
}

}  // namespace

StateLayout state_layout(const AttentionConfig& config, uint32_t n_ctx) {
  return Paged{config.n_kv_heads, config.head_dim, config.head_dim, config.window < n_ctx ? config.window : 0};
}

uint64_t size_of(const AttentionConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kQ:
      return n_q(c);
    case Dim::kKv:
      return n_kv(c);
    case Dim::kQkv:
      return n_q(c) + uint64_t{2} * n_kv(c);
    case Dim::kHead:
      return c.head_dim;
    default:
      return 0;
  }
}

Result<AttentionWeights> bind(const AttentionConfig& c, TensorBinder& tensors) {
  AttentionWeights w;
  if (tensors.is_in_file(Role::kWqkv) || !tensors.is_known(Role::kWq)) {
    RZ_CHECK_OK(bind_fused(c, tensors, w));
  } else {
    RZ_CHECK_OK(bind_apart(c, tensors, w));
  }
  RZ_TRY(w.wo, tensors.matrix(Role::kWo, {}, query_unit(c)));
  RZ_TRY(w.bo, tensors.vector(Role::kBo));
  RZ_TRY(const auto q_norm, tensors.norm_values(Role::kQNorm));
  RZ_TRY(const auto k_norm, tensors.norm_values(Role::kKNorm));
  RZ_TRY(w.q_norm, tensors.upload(permuted(q_norm, row_order(c, 1))));
  RZ_TRY(w.k_norm, tensors.upload(permuted(k_norm, row_order(c, 1))));
  return w;
}

void add_to(LayerBuilder& b, const AttentionConfig& c, const AttentionWeights& w) {
  const ActId q = b.scratch("q", n_q(c)), k = b.scratch("k", n_kv(c)), v = b.scratch("v", n_kv(c));
  const ActId attended = b.scratch("attended", n_q(c));
  const OpPlace qkv = b.place(OpRole::kQkv);
  b.add(LinearOp{.out = q, .in = b.in(), .weight = w.wq, .bias = w.bq, .place = qkv});
  b.add(LinearOp{.out = k, .in = b.in(), .weight = w.wk, .bias = w.bk, .place = qkv});
  b.add(LinearOp{.out = v, .in = b.in(), .weight = w.wv, .bias = w.bv, .place = qkv});
  const LayerBuilder::Rotation rotation = b.rotation(c.rope_idx);
  b.add(RopeStoreOp{.q = q,
                    .k = k,
                    .v = v,
                    .layer = b.layer(),
                    .n_heads = c.n_heads,
                    .n_kv_heads = c.n_kv_heads,
                    .head_dim = c.head_dim,
                    .inv_freq = rotation.inv_freq,
                    .n_rot = rotation.n_rot,
                    .rope_scale = rotation.scale,
                    .q_norm = c.qk_norm ? w.q_norm : kNoWeight,
                    .k_norm = c.qk_norm ? w.k_norm : kNoWeight,
                    .norm_eps = b.norm_eps()});
  b.add(AttentionOp{.out = attended,
                    .q = q,
                    .layer = b.layer(),
                    .n_heads = c.n_heads,
                    .n_kv_heads = c.n_kv_heads,
                    .head_dim = c.head_dim,
                    .scale = c.scale,
                    .softcap = c.softcap,
                    .window = c.window});
  b.add_to_stream(LinearOp{.out = b.out(), .in = attended, .weight = w.wo, .bias = w.bo, .place = b.place(OpRole::kO)});
}

}  // namespace realizar
