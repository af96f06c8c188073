#include "model/mixers/latent_attention.h"

#include <numeric>
#include <vector>

#include "base/try.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {
namespace {

// Stored pairs (2i, 2i + 1) of the last n_rot rows of each head become (i, i + n_rot / 2). Queries and keys have the
// same permutation, so their products do not change.
std::vector<uint32_t> row_order(const LatentAttentionConfig& c, uint32_t n_heads, uint32_t head_dim) {
  if (!c.is_interleaved) return {};
  std::vector<uint32_t> order(size_t{n_heads} * head_dim);
  std::iota(order.begin(), order.end(), 0);
  for (uint32_t h = 0; h < n_heads; ++h) {
    const uint32_t first = (h + 1) * head_dim - c.n_rot, half = c.n_rot / 2;
    for (uint32_t i = 0; i < half; ++i) {
      order[first + i] = first + 2 * i;
      order[first + half + i] = first + 2 * i + 1;
    }
  }
  return order;
}

// The projections from latents to keys and values are two stacks, with keys transposed, or one matrix with the rows of
// each head.
Status bind_heads(const LatentAttentionConfig& c, TensorBinder& tensors, LatentAttentionWeights& w) {
  if (tensors.is_in_file(Role::kLatentKv) || !tensors.is_known(Role::kLatentK)) {
    const uint32_t stride = c.d_nope + c.d_value;
    const TensorBinder::Part keys{.n_rows = c.n_heads * c.d_nope, .n_run = c.d_nope, .stride = stride},
        values{.first_row = c.d_nope, .n_rows = c.n_heads * c.d_value, .n_run = c.d_value, .stride = stride};
    RZ_TRY(w.wk, tensors.transposed_heads(Role::kLatentKv, keys));
    RZ_TRY(w.wv, tensors.heads(Role::kLatentKv, values));
    return {};
  }
  RZ_TRY(w.wk, tensors.matrix(Role::kLatentK));
  RZ_TRY(w.wv, tensors.matrix(Role::kLatentV));
  return {};
}

// [n_heads * (d_nope + n_rot)]
ActId add_queries(LayerBuilder& b, const LatentAttentionConfig& c, const LatentAttentionWeights& w) {
  const ActId q = b.scratch("q", c.n_heads * c.query_dim());
  const OpPlace place = b.place(OpRole::kQkv);
  if (c.q_rank == 0) {
    b.add(LinearOp{.out = q, .in = b.in(), .weight = w.wq, .place = place});
    return q;
  }
  const ActId low = b.scratch("q_low", c.q_rank);
  b.add(LinearOp{.out = low, .in = b.in(), .weight = w.wq_a, .place = place});
  b.add(NormOp{.out = low, .in = low, .weight = w.q_norm, .eps = b.norm_eps(), .place = place});
  b.add(LinearOp{.out = q, .in = low, .weight = w.wq_b, .place = place});
  return q;
}

}  // namespace

StateLayout state_layout(const LatentAttentionConfig& c, uint32_t) {
  return Paged{.n_kv_heads = 1, .k_dim = c.key_dim(), .v_dim = 0};
}

uint64_t size_of(const LatentAttentionConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kQ:
      return uint64_t{c.n_heads} * c.query_dim();
    case Dim::kQRank:
      return c.q_rank;
    case Dim::kLatent:
      return c.latent_dim;
    case Dim::kLatentKey:
      return c.key_dim();
    case Dim::kLatentKv:
      return uint64_t{c.n_heads} * (c.d_nope + c.d_value);
    case Dim::kNope:
      return c.d_nope;
    case Dim::kValue:
      return c.d_value;
    case Dim::kAttended:
      return uint64_t{c.n_heads} * c.d_value;
    case Dim::kHeads:
      return c.n_heads;
    default:
      return 0;
  }
}

Result<LatentAttentionWeights> bind(const LatentAttentionConfig& c, TensorBinder& tensors) {
  LatentAttentionWeights w;
  const auto q_order = row_order(c, c.n_heads, c.query_dim());
  if (c.q_rank > 0) {
    RZ_TRY(w.wq_a, tensors.matrix(Role::kWqA));
    RZ_TRY(w.q_norm, tensors.norm(Role::kQNorm));
    RZ_TRY(w.wq_b, tensors.matrix(Role::kWqB, q_order));
  } else {
    RZ_TRY(w.wq, tensors.matrix(Role::kWq, q_order));
  }
  RZ_TRY(w.wkv, tensors.matrix(Role::kWLatent, row_order(c, 1, c.key_dim())));
  RZ_TRY(w.latent_norm, tensors.norm(Role::kLatentNorm));
  RZ_CHECK_OK(bind_heads(c, tensors, w));
  RZ_TRY(w.wo, tensors.matrix(Role::kWo));
  return w;
}

void add_to(LayerBuilder& b, const LatentAttentionConfig& c, const LatentAttentionWeights& w) {
  const ActId latent = b.scratch("latent", c.key_dim());
  const ActId query = b.scratch("query", c.n_heads * c.key_dim());
  const ActId attended = b.scratch("attended", c.n_heads * c.latent_dim);
  const ActId values = b.scratch("values", c.n_heads * c.d_value);
  const OpPlace place = b.place(OpRole::kQkv);
  b.add(LinearOp{.out = latent, .in = b.in(), .weight = w.wkv, .place = place});
  const ActId q = add_queries(b, c, w);
  b.add(HeadLinearOp{.out = query,
                     .in = q,
                     .weight = w.wk,
                     .n_heads = c.n_heads,
                     .in_width = c.query_dim(),
                     .out_width = c.key_dim(),
                     .place = place});
  const LayerBuilder::Rotation rotation = b.rotation(c.rope_idx);
  b.add(LatentStoreOp{.query = query,
                      .q = q,
                      .latent = latent,
                      .layer = b.layer(),
                      .n_heads = c.n_heads,
                      .query_dim = c.query_dim(),
                      .latent_dim = c.latent_dim,
                      .n_rot = c.n_rot,
                      .inv_freq = rotation.inv_freq,
                      .rope_scale = rotation.scale,
                      .norm = w.latent_norm,
                      .norm_eps = b.norm_eps(),
                      .temperature = {c.temperature, c.temperature_step, c.temperature_offset}});
  b.add(AttentionOp{.out = attended,
                    .q = query,
                    .layer = b.layer(),
                    .n_heads = c.n_heads,
                    .n_kv_heads = 1,
                    .head_dim = c.key_dim(),
                    .scale = c.scale,
                    .latent_dim = c.latent_dim});
  b.add(HeadLinearOp{.out = values,
                     .in = attended,
                     .weight = w.wv,
                     .n_heads = c.n_heads,
                     .in_width = c.latent_dim,
                     .out_width = c.d_value,
                     .place = b.place(OpRole::kO)});
  b.add_to_stream(LinearOp{.out = b.out(), .in = values, .weight = w.wo, .place = b.place(OpRole::kO)});
}

}  // namespace realizar
