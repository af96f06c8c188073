// Attention over a sequence's cached keys and values: q, k and v with their norms and rotation, attention, and the
// output projection.
#pragma once

#include <string>
#include <vector>

#include "model/kind.h"

namespace realizar {

inline constexpr uint32_t kNoRope = UINT32_MAX;
inline constexpr uint32_t kOwnKv = UINT32_MAX;

struct AttentionWeights {
  WeightId wq = kNoWeight;                  // [n_heads * head_dim, d_model]
  WeightId wk = kNoWeight, wv = kNoWeight;  // [n_kv_heads * head_dim, d_model]
  WeightId wo = kNoWeight;                  // [d_model, n_heads * head_dim]
  WeightId bq = kNoWeight;                  // [n_heads * head_dim]
  WeightId bk = kNoWeight, bv = kNoWeight;  // [n_kv_heads * head_dim]
  WeightId bo = kNoWeight;                  // [d_model]
  // [head_dim] if all heads share a norm, otherwise [n_heads * head_dim] and [n_kv_heads * head_dim]
  WeightId q_norm = kNoWeight, k_norm = kNoWeight;
  WeightId sub_norm = kNoWeight;  // [n_heads * head_dim], of attention's output
  WeightId sinks = kNoWeight;     // [n_heads]
  WeightId w_gate = kNoWeight;    // [n_heads * head_dim, d_model]
  WeightId slopes = kNoWeight;    // [n_heads]
};

// Norms of q and k, before their rotation. kOwnHead and kRow use the model's kind of norm.
enum class QkNorm : uint8_t {
  kNone,
  kHead,      // RMS of each head, with the same weights for all
  kUnitHead,  // RMS of each head, without weights
  kOwnHead,   // each head with its own weights
  kRow        // all heads together
};
constexpr bool is_per_head(QkNorm norm) {
  return norm == QkNorm::kHead || norm == QkNorm::kUnitHead;
}

// Rows of a fused matrix: those of q, of k, of v; or for each KV head those of its queries, its key, its value.
enum class QkvRows : uint8_t { kStacked, kByKvHead };

enum class Values : uint8_t {
  kOwn,        // projected by wv
  kNormed,     // projected by wv, each head divided by its RMS
  kNormedKeys  // projected by wk, each head divided by its RMS
};

struct AttentionConfig {
  using Weights = AttentionWeights;
  static constexpr const char* kName = "attention";

  uint32_t n_heads = 0, n_kv_heads = 0;
  uint32_t head_dim = 0;        // of a query, a key and a value
  uint32_t rope_idx = kNoRope;  // which of ModelConfig::ropes rotates q and k
  // Leading dimensions of a head whose rows of q and k are pairs (2i, 2i + 1) in the file; binding reorders them into
  // halves.
  uint32_t n_interleaved = 0;
  uint32_t window = 0;      // positions that a token attends to, including its own; 0: the whole context
  bool is_chunked = false;  // the context is cut into chunks of `window` positions
  QkNorm qk_norm = QkNorm::kNone;
  QkvRows qkv_rows = QkvRows::kStacked;
  bool has_gate = false;  // of attention's output
  bool has_sinks = false;
  float scale = 0;          // on q.k
  float softcap = 0;        // on the scaled q.k; 0: none
  bool norms_last = false;  // q and k are rotated before their norms (kHead only)
  float out_scale = 1.0f;   // on the branch's output
  float clip = 0;           // q, k and v are clamped to [-clip, clip] first; 0: off
  float temperature = 0;    // q grows with the logarithm of its position in temperature_steps (Temperature); 0: off
  float alibi = 0;          // ALiBi, with slopes beginning at 2^(-alibi / n_heads); 0: off
  Values values = Values::kOwn;
  uint32_t kv_layer = kOwnKv;                             // layer whose keys and values it attends to
  uint32_t temperature_step = 1, temperature_offset = 0;  // positions; the offset is added to a row's
  bool is_bidirectional = false;                          // a token also attends to later ones, within the window
  bool alibi_is_scaled = false;                           // slopes are rounded to BF16 and multiplied by `scale`

  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("n_heads", n_heads), v("n_kv_heads", n_kv_heads), v("head_dim", head_dim), v("rope_idx", rope_idx);
    v("n_interleaved", n_interleaved), v("window", window), v("is_chunked", is_chunked), v("qk_norm", qk_norm);
    v("qkv_rows", qkv_rows), v("has_gate", has_gate), v("has_sinks", has_sinks), v("scale", scale);
    v("softcap", softcap), v("norms_last", norms_last), v("out_scale", out_scale), v("clip", clip);
    v("temperature", temperature), v("alibi", alibi), v("values", values), v("kv_layer", kv_layer);
    v("temperature_step", temperature_step), v("temperature_offset", temperature_offset),
        v("is_bidirectional", is_bidirectional);
    v("alibi_is_scaled", alibi_is_scaled);
  }
  bool operator==(const AttentionConfig&) const = default;
};

// State for a sequence of up to n_ctx positions; a window of at least n_ctx is ignored.
StateLayout state_layout(const AttentionConfig& config, uint32_t n_ctx);
// Order of the rows of q or k in a file that stores the first n_interleaved dimensions of a head in pairs; empty: as
// stored.
std::vector<uint32_t> row_order(const AttentionConfig& config, uint32_t n_rows, uint32_t n_interleaved);
// 0 if the kind has no such dimension.
uint64_t size_of(const AttentionConfig& config, Dim dim);
Result<AttentionWeights> bind(const AttentionConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const AttentionConfig& config, const AttentionWeights& weights);

}  // namespace realizar
