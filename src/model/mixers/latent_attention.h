// Multi-head latent attention (DeepSeek-V2, section 2.1): the cache has one latent and one rotated key per position,
// for all heads. Queries are projected into the latent's space (absorbed), so that attention reads the cache directly,
// and each head's values are computed from the latent that it attended to.
#pragma once

#include "model/mixers/attention.h"

namespace realizar {

struct LatentAttentionWeights {
  WeightId wq = kNoWeight;                      // [n_heads * (d_nope + n_rot), d_model]
  WeightId wq_a = kNoWeight, wq_b = kNoWeight;  // [q_rank, d_model], [n_heads * (d_nope + n_rot), q_rank]
  WeightId q_norm = kNoWeight;                  // [q_rank]
  WeightId wkv = kNoWeight;                     // [latent_dim + n_rot, d_model]
  WeightId latent_norm = kNoWeight;             // [latent_dim]
  WeightId wk = kNoWeight;                      // [n_heads, latent_dim, d_nope]
  WeightId wv = kNoWeight;                      // [n_heads, d_value, latent_dim]
  WeightId wo = kNoWeight;                      // [d_model, n_heads * d_value]
};

struct LatentAttentionConfig {
  using Weights = LatentAttentionWeights;
  static constexpr const char* kName = "latent attention";

  uint32_t n_heads = 0;
  uint32_t q_rank = 0;  // rank of the query projection; 0: full
  uint32_t latent_dim = 0;
  uint32_t d_nope = 0;   // leading dimensions of a query that are not rotated
  uint32_t n_rot = 0;    // trailing dimensions of a query that are rotated
  uint32_t d_value = 0;  // of a head
  uint32_t rope_idx = kNoRope;
  bool is_interleaved = true;  // the file stores rotated rows in pairs (2i, 2i + 1)
  float scale = 0;             // on q.k
  float temperature = 0;       // as AttentionConfig's
  uint32_t temperature_step = 1, temperature_offset = 0;

  // Width of a cached position.
  uint32_t key_dim() const { return latent_dim + n_rot; }
  uint32_t query_dim() const { return d_nope + n_rot; }
  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("n_heads", n_heads), v("q_rank", q_rank), v("latent_dim", latent_dim), v("d_nope", d_nope), v("n_rot", n_rot);
    v("d_value", d_value), v("rope_idx", rope_idx), v("is_interleaved", is_interleaved), v("scale", scale);
    v("temperature", temperature), v("temperature_step", temperature_step);
    v("temperature_offset", temperature_offset);
  }
  bool operator==(const LatentAttentionConfig&) const = default;
};

StateLayout state_layout(const LatentAttentionConfig& config, uint32_t n_ctx);
// 0 if the kind has no such dimension.
uint64_t size_of(const LatentAttentionConfig& config, Dim dim);
Result<LatentAttentionWeights> bind(const LatentAttentionConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const LatentAttentionConfig& config, const LatentAttentionWeights& weights);

}  // namespace realizar
