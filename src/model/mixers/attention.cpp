#include "model/mixers/attention.h"

#include <bit>
#include <cmath>
#include <vector>

#include "base/try.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"
#include "quant/half.h"

namespace realizar {
namespace {

uint32_t n_q(const AttentionConfig& c) {
  return c.n_heads * c.head_dim;
}

uint32_t n_kv(const AttentionConfig& c) {
  return c.n_kv_heads * c.head_dim;
}

std::vector<uint32_t> row_order(const AttentionConfig& c, uint32_t n_heads) {
  return realizar::row_order(c, n_heads * c.head_dim, c.n_interleaved);
}

std::vector<float> permuted(const std::vector<float>& values, const std::vector<uint32_t>& order) {
  if (order.empty() || values.empty()) return values;
  std::vector<float> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) result[i] = values[order[i]];
  return result;
}

// Rows of q, and of k or v, that stay together if ranks or devices share the heads: whole KV heads whose columns of wo
// are whole blocks. 0: a norm over all heads needs all of them.
struct HeadUnits {
  uint32_t q = 0, kv = 0;
};

HeadUnits head_units(const AttentionConfig& c, const TensorBinder& tensors) {
  const bool is_normed_whole = c.qk_norm == QkNorm::kRow || tensors.is_in_file(Role::kAttnSubNorm);
  if (is_normed_whole) return {};
  const uint32_t group = c.n_heads / c.n_kv_heads;
  const uint32_t q = tensors.shard_unit(Role::kWo, group * c.head_dim);
  return {q, q / group};
}

Status bind_biases(const AttentionConfig& c, TensorBinder& tensors, AttentionWeights& w) {
  RZ_TRY(const auto bq, tensors.values(Role::kBq));
  RZ_TRY(const auto bk, tensors.values(Role::kBk));
  RZ_TRY(w.bq, tensors.upload(permuted(bq, row_order(c, c.n_heads))));
  RZ_TRY(w.bk, tensors.upload(permuted(bk, row_order(c, c.n_kv_heads))));
  RZ_TRY(w.bv, tensors.vector(Role::kBv));
  return {};
}

// The biases of a fused matrix are fused or separate.
Status bind_fused(const AttentionConfig& c, HeadUnits units, TensorBinder& tensors, AttentionWeights& w) {
  const auto q_order = row_order(c, c.n_heads), k_order = row_order(c, c.n_kv_heads);
  const uint32_t group = c.n_heads / c.n_kv_heads, dim = c.head_dim;
  const bool by_kv_head = c.qkv_rows == QkvRows::kByKvHead;
  const auto part = [&](uint32_t first_row, uint32_t n_rows, std::vector<uint32_t> order, uint32_t n_run,
                        uint32_t unit) {
    TensorBinder::Part p{.first_row = first_row, .n_rows = n_rows, .row_order = std::move(order), .shard_unit = unit};
    if (by_kv_head) p.n_run = n_run, p.stride = (group + 2) * dim;
    return p;
  };
  const uint32_t k_row = by_kv_head ? group * dim : n_q(c), v_row = k_row + (by_kv_head ? dim : n_kv(c));
  const TensorBinder::Part q = part(0, n_q(c), q_order, group * dim, units.q),
                           k = part(k_row, n_kv(c), k_order, dim, units.kv),
                           v = part(v_row, n_kv(c), {}, dim, units.kv);
  RZ_TRY(const auto parts, tensors.split_matrix(Role::kWqkv, {q, k, v}));
  w.wq = parts[0], w.wk = parts[1], w.wv = parts[2];
  RZ_TRY(const auto bias, tensors.values(Role::kBqkv));
  if (bias.empty()) return bind_biases(c, tensors, w);
  RZ_TRY(w.bq, tensors.upload(permuted(q.of(bias), q_order)));
  RZ_TRY(w.bk, tensors.upload(permuted(k.of(bias), k_order)));
  RZ_TRY(w.bv, tensors.upload(v.of(bias)));
  return {};
}

// Each head's query is followed by its gate if gates have no separate matrix.
Status bind_queries(const AttentionConfig& c, HeadUnits units, TensorBinder& tensors, AttentionWeights& w) {
  const auto order = row_order(c, c.n_heads);
  if (!c.has_gate || tensors.is_known(Role::kAttnGate)) {
    RZ_TRY(w.wq, tensors.matrix(Role::kWq, order, units.q));
    RZ_TRY(w.w_gate, tensors.matrix(Role::kAttnGate, {}, units.q));
    return {};
  }
  const auto part = [&](uint32_t first_row, const std::vector<uint32_t>& rows) {
    return TensorBinder::Part{.first_row = first_row,
                              .n_rows = n_q(c),
                              .row_order = rows,
                              .shard_unit = units.q,
                              .n_run = c.head_dim,
                              .stride = 2 * c.head_dim};
  };
  RZ_TRY(const auto parts, tensors.split_matrix(Role::kWq, {part(0, order), part(c.head_dim, {})}));
  w.wq = parts[0], w.w_gate = parts[1];
  return {};
}

Status bind_separate(const AttentionConfig& c, HeadUnits units, TensorBinder& tensors, AttentionWeights& w) {
  const auto k_order = row_order(c, c.n_kv_heads);
  RZ_CHECK_OK(bind_queries(c, units, tensors, w));
  if (c.kv_layer != kOwnKv) {
    for (const Role role : {Role::kWk, Role::kWv, Role::kKNorm}) tensors.ignore(role);
    return {};
  }
  if (tensors.is_in_file(Role::kWkv) || !tensors.is_known(Role::kWk)) {
    const auto part = [&](uint32_t first_row, const std::vector<uint32_t>& rows) {
      return TensorBinder::Part{.first_row = first_row, .n_rows = n_kv(c), .row_order = rows, .shard_unit = units.kv};
    };
    RZ_TRY(const auto parts, tensors.split_matrix(Role::kWkv, {part(0, k_order), part(n_kv(c), {})}));
    w.wk = parts[0], w.wv = parts[1];
    return bind_biases(c, tensors, w);
  }
  RZ_TRY(w.wk, tensors.matrix(Role::kWk, k_order, units.kv));
  if (c.values == Values::kNormedKeys) {
    tensors.ignore(Role::kWv);
  } else {
    RZ_TRY(w.wv, tensors.matrix(Role::kWv, {}, units.kv));
  }
  return bind_biases(c, tensors, w);
}

// ALiBi (Press et al. 2022): a geometric series for a power of two of heads; further heads lie in between.
std::vector<float> slopes_of(const AttentionConfig& c) {
  std::vector<float> slopes;
  if (c.alibi == 0) return slopes;
  const uint32_t n_first = std::bit_floor(c.n_heads);
  for (uint32_t h = 0; h < c.n_heads; ++h) {
    const double power = h < n_first ? h + 1.0 : h - n_first + 0.5;
    const auto slope = static_cast<float>(std::exp2(-c.alibi * power / n_first));
    slopes.push_back(c.alibi_is_scaled ? bf16_to_float(float_to_bf16(slope)) * c.scale : slope);
  }
  return slopes;
}

// A norm of q or k, in the order of the matrix's rows.
Result<WeightId> bind_norm(const AttentionConfig& c, TensorBinder& tensors, Role role, uint32_t n_heads) {
  if (c.qk_norm == QkNorm::kUnitHead) return tensors.upload(std::vector<float>(c.head_dim, 1.0f));
  RZ_TRY(const auto values, tensors.norm_values(role));
  return tensors.upload(permuted(values, row_order(c, c.qk_norm == QkNorm::kHead ? 1 : n_heads)));
}

void add_norm(LayerBuilder& b, const AttentionConfig& c, ActId act, WeightId weight, uint32_t n_heads) {
  if (c.qk_norm != QkNorm::kOwnHead && c.qk_norm != QkNorm::kRow) return;
  b.add(NormOp{.out = act,
               .in = act,
               .weight = weight,
               .kind = b.norm_kind(),
               .eps = b.norm_eps(),
               .n_groups = c.qk_norm == QkNorm::kRow ? 1 : n_heads,
               .place = b.place(OpRole::kQkv)});
}

// Values::kNormedKeys uses k before its norm and rotation.
void add_keys_and_values(LayerBuilder& b, const AttentionConfig& c, const AttentionWeights& w, ActId k, ActId v) {
  const OpPlace qkv = b.place(OpRole::kQkv);
  b.add(LinearOp{.out = k, .in = b.in(), .weight = w.wk, .bias = w.bk, .place = qkv});
  const bool are_keys = c.values == Values::kNormedKeys;
  if (!are_keys) b.add(LinearOp{.out = v, .in = b.in(), .weight = w.wv, .bias = w.bv, .place = qkv});
  if (c.values == Values::kOwn) return;
  b.add(NormOp{.out = v, .in = are_keys ? k : v, .eps = b.norm_eps(), .n_groups = c.n_kv_heads, .place = qkv});
}

}  // namespace

// Stored pairs (2i, 2i + 1) become (i, i + n_interleaved / 2): the rotation is then the same for every file. q and k
// have the same permutation, so their products do not change.
std::vector<uint32_t> row_order(const AttentionConfig& c, uint32_t n_rows, uint32_t n_interleaved) {
  if (n_interleaved == 0) return {};
  const uint32_t half = n_interleaved / 2;
  std::vector<uint32_t> order(n_rows);
  for (uint32_t row = 0; row < n_rows; ++row) {
    const uint32_t dim = row % c.head_dim;
    const uint32_t stored = dim < half ? 2 * dim : dim < 2 * half ? 2 * (dim - half) + 1 : dim;
    order[row] = row - dim + stored;
  }
  return order;
}

StateLayout state_layout(const AttentionConfig& config, uint32_t n_ctx) {
  if (config.kv_layer != kOwnKv) return Recurrent{};  // no state
  const bool can_drop = config.window < n_ctx && !config.is_bidirectional;
  return Paged{config.n_kv_heads, config.head_dim, config.head_dim, can_drop ? config.window : 0};
}

uint64_t size_of(const AttentionConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kQ:
      return n_q(c);
    case Dim::kGatedQ:
      return uint64_t{2} * n_q(c);
    case Dim::kKv:
      return n_kv(c);
    case Dim::kTwoKv:
      return uint64_t{2} * n_kv(c);
    case Dim::kQkv:
      return n_q(c) + uint64_t{2} * n_kv(c);
    case Dim::kHead:
      return c.head_dim;
    case Dim::kHeads:
      return c.n_heads;
    case Dim::kKvHeads:
      return c.n_kv_heads;
    default:
      return 0;
  }
}

Result<AttentionWeights> bind(const AttentionConfig& c, TensorBinder& tensors) {
  AttentionWeights w;
  const HeadUnits units = head_units(c, tensors);
  if (tensors.is_in_file(Role::kWqkv) || !tensors.is_known(Role::kWq)) {
    RZ_CHECK_OK(bind_fused(c, units, tensors, w));
  } else {
    RZ_CHECK_OK(bind_separate(c, units, tensors, w));
  }
  RZ_TRY(w.wo, tensors.matrix(Role::kWo, {}, units.q));
  RZ_TRY(w.bo, tensors.vector(Role::kBo));
  RZ_TRY(w.sinks, tensors.vector(Role::kSinks));
  RZ_TRY(w.slopes, tensors.upload(slopes_of(c)));
  RZ_TRY(w.sub_norm, tensors.norm(Role::kAttnSubNorm));
  RZ_TRY(w.q_norm, bind_norm(c, tensors, Role::kQNorm, c.n_heads));
  if (c.kv_layer == kOwnKv) {
    RZ_TRY(w.k_norm, bind_norm(c, tensors, Role::kKNorm, c.n_kv_heads));
  }
  return w;
}

void add_to(LayerBuilder& b, const AttentionConfig& c, const AttentionWeights& w) {
  const bool has_kv = c.kv_layer == kOwnKv;
  const uint32_t kv_layer = has_kv ? b.layer() : c.kv_layer;
  const ActId q = b.scratch("q", n_q(c));
  const ActId k = has_kv ? b.scratch("k", n_kv(c)) : kNoAct, v = has_kv ? b.scratch("v", n_kv(c)) : kNoAct;
  const ActId attended = b.scratch("attended", n_q(c));
  b.add(LinearOp{.out = q, .in = b.in(), .weight = w.wq, .bias = w.bq, .place = b.place(OpRole::kQkv)});
  if (has_kv) add_keys_and_values(b, c, w, k, v);
  add_norm(b, c, q, w.q_norm, c.n_heads);
  if (has_kv) add_norm(b, c, k, w.k_norm, c.n_kv_heads);
  const LayerBuilder::Rotation rotation = b.rotation(c.rope_idx);
  b.add(RopeStoreOp{.q = q,
                    .k = k,
                    .v = v,
                    .layer = kv_layer,
                    .n_heads = c.n_heads,
                    .n_kv_heads = has_kv ? c.n_kv_heads : 0,
                    .head_dim = c.head_dim,
                    .inv_freq = rotation.inv_freq,
                    .n_rot = rotation.n_rot,
                    .rope_scale = rotation.scale,
                    .q_norm = is_per_head(c.qk_norm) ? w.q_norm : kNoWeight,
                    .k_norm = is_per_head(c.qk_norm) ? w.k_norm : kNoWeight,
                    .norm_eps = b.norm_eps(),
                    .norms_last = c.norms_last,
                    .clip = c.clip,
                    .temperature = {c.temperature, c.temperature_step, c.temperature_offset}});
  b.add(AttentionOp{.out = attended,
                    .q = q,
                    .layer = kv_layer,
                    .n_heads = c.n_heads,
                    .n_kv_heads = c.n_kv_heads,
                    .head_dim = c.head_dim,
                    .scale = c.scale,
                    .softcap = c.softcap,
                    .window = c.window,
                    .is_chunked = c.is_chunked,
                    .is_bidirectional = c.is_bidirectional,
                    .sinks = w.sinks,
                    .slopes = w.slopes});
  if (w.sub_norm != kNoWeight) b.normalize(attended, w.sub_norm, OpRole::kO);
  if (c.has_gate) {
    const ActId gate = b.scratch("gate", n_q(c));
    b.add(LinearOp{.out = gate, .in = b.in(), .weight = w.w_gate, .place = b.place(OpRole::kQkv)});
    b.add(GateOp{.out = attended, .in = attended, .gate = gate, .place = b.place(OpRole::kO)});
  }
  b.add_to_stream(LinearOp{.out = b.out(),
                           .in = attended,
                           .weight = w.wo,
                           .bias = w.bo,
                           .epilogue = {.scale = c.out_scale},
                           .place = b.place(OpRole::kO)});
}

}  // namespace realizar
