// Multi-head latent attention (DeepSeek-V2, section 2.1): of keys and values one latent a position is kept, for all
// heads, and beside it one rotated key. Queries are brought into the latent's space (absorbed), so that attention reads
// what is kept, and each head's values are made from the latent that it attended to.
#pragma once

#include <cstdint>

#include "backend/op_types.h"
#include "backend/state_layout.h"
#include "model/mixers/attention.h"
#include "realizar/result.h"

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
  uint32_t q_rank = 0;  // of the low rank through which queries go; 0: none
  uint32_t latent_dim = 0;
  uint32_t d_nope = 0;   // dimensions of a head's query that are not rotated,
  uint32_t n_rot = 0;    // and those that are, after them
  uint32_t d_value = 0;  // of a head
  uint32_t rope_idx = kNoRope;
  bool is_interleaved = true;  // the file has rotated rows in pairs (2i, 2i + 1)
  float scale = 0;             // on q.k
  float temperature = 0;       // as AttentionConfig's
  uint32_t temperature_step = 1, temperature_offset = 0;

  // Of what is kept of a position.
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
// 0 where the dimension is not of this kind.
uint64_t size_of(const LatentAttentionConfig& config, Dim dim);
Result<LatentAttentionWeights> bind(const LatentAttentionConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const LatentAttentionConfig& config, const LatentAttentionWeights& weights);

}  // namespace realizar
