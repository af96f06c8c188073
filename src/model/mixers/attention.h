// Attention over the keys and values that a sequence has in the cache: q, k and v, their norms and rotation, and the
// product that brings what was attended back to the stream.
#pragma once

#include <cstdint>
#include <string>

#include "backend/ops.h"
#include "backend/state_layout.h"
#include "realizar/result.h"

namespace realizar {

class LayerBuilder;
class TensorBinder;
enum class Dim : uint8_t;

inline constexpr uint32_t kNoRope = UINT32_MAX;

struct AttentionWeights {
  WeightId wq = kNoWeight;                          // [n_heads * head_dim, d_model]
  WeightId wk = kNoWeight, wv = kNoWeight;          // [n_kv_heads * head_dim, d_model]
  WeightId wo = kNoWeight;                          // [d_model, n_heads * head_dim]
  WeightId bq = kNoWeight;                          // [n_heads * head_dim]
  WeightId bk = kNoWeight, bv = kNoWeight;          // [n_kv_heads * head_dim]
  WeightId bo = kNoWeight;                          // [d_model]
  WeightId q_norm = kNoWeight, k_norm = kNoWeight;  // [head_dim]
};

struct AttentionConfig {
  using Weights = AttentionWeights;

  uint32_t n_heads = 0, n_kv_heads = 0;
  uint32_t head_dim = 0;        // of a query, a key and a value
  uint32_t rope_idx = kNoRope;  // which of ModelConfig::ropes turns q and k
  // Leading dimensions of a head whose rows of q and k the file has in pairs (2i, 2i + 1): binding puts them in halves.
  uint32_t n_interleaved = 0;
  uint32_t window = 0;   // positions that a token sees, its own among them; 0: the whole context
  bool qk_norm = false;  // an RMS norm of each head of q and k
  float scale = 0;       // on q.k
  float softcap = 0;     // of the scaled q.k; 0: none

  bool operator==(const AttentionConfig&) const = default;
};

// What it keeps of a sequence of up to n_ctx positions; a window that none of them leaves is none.
StateLayout state_layout(const AttentionConfig& config, uint32_t n_ctx);
// 0 where the dimension is not of this kind.
uint64_t size_of(const AttentionConfig& config, Dim dim);
Result<AttentionWeights> bind(const AttentionConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const AttentionConfig& config, const AttentionWeights& weights);

}  // namespace realizar
