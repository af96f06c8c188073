// Attention over the keys and values that a sequence has in the cache: q, k and v, their norms and rotation, and the
// product that brings what was attended back to the stream.
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
  // [head_dim] where all heads have the same norm, else [n_heads * head_dim] and [n_kv_heads * head_dim]
  WeightId q_norm = kNoWeight, k_norm = kNoWeight;
  WeightId sub_norm = kNoWeight;  // of what was attended, [n_heads * head_dim]
  WeightId sinks = kNoWeight;     // [n_heads]
  WeightId w_gate = kNoWeight;    // [n_heads * head_dim, d_model]
  WeightId slopes = kNoWeight;    // [n_heads]
};

// What is normalized of q and of k, before they are rotated: each head, with the same weights for all, or without
// weights, and always by its RMS; each head with weights of its own; or all heads together. The latter two are of the
// model's kind of norm.
enum class QkNorm : uint8_t { kNone, kHead, kUnitHead, kOwnHead, kRow };
constexpr bool is_of_heads(QkNorm norm) {
  return norm == QkNorm::kHead || norm == QkNorm::kUnitHead;
}

// How the rows of a fused matrix lie: those of q, of k, of v; or for each KV head those of its queries, its key, its
// value.
enum class QkvRows : uint8_t { kStacked, kByKvHead };

// What values are: products of their own; those, each head divided by its RMS; or the products that keys are made of,
// so divided.
enum class Values : uint8_t { kOwn, kNormed, kNormedKeys };

struct AttentionConfig {
  using Weights = AttentionWeights;
  static constexpr const char* kName = "attention";

  uint32_t n_heads = 0, n_kv_heads = 0;
  uint32_t head_dim = 0;        // of a query, a key and a value
  uint32_t rope_idx = kNoRope;  // which of ModelConfig::ropes rotates q and k
  // Leading dimensions of a head whose rows of q and k the file has in pairs (2i, 2i + 1): binding puts them in halves.
  uint32_t n_interleaved = 0;
  uint32_t window = 0;      // positions that a token sees, its own among them; 0: the whole context
  bool is_chunked = false;  // the window begins anew at each of its multiples
  QkNorm qk_norm = QkNorm::kNone;
  QkvRows qkv_rows = QkvRows::kStacked;
  bool has_gate = false;  // of what was attended: in files each head's rows come after those of its query
  bool has_sinks = false;
  float scale = 0;          // on q.k
  float softcap = 0;        // of the scaled q.k; 0: none
  bool norms_last = false;  // q and k are rotated before their norms of kHead
  float out_scale = 1.0f;   // on what is brought back to the stream
  float clip = 0;           // q, k and v are brought into [-clip, clip] before all else; 0: they are not
  float temperature = 0;    // q grows with the logarithm of how many temperature_steps it is from the beginning
  float alibi = 0;          // scores fall with distance, by slopes that begin at 2^(-alibi / n_heads); 0: they do not
  Values values = Values::kOwn;
  uint32_t kv_layer = kOwnKv;                             // which layer keeps the keys and values that it attends to
  uint32_t temperature_step = 1, temperature_offset = 0;  // positions; the latter are added to a row's
  bool is_bidirectional = false;                          // a token sees those after it too, as far as the window goes
  bool alibi_is_scaled = false;                           // its slopes are rounded to BF16 and have `scale` as q.k has

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

// What it keeps of a sequence of up to n_ctx positions; a window that none of them leaves is none.
StateLayout state_layout(const AttentionConfig& config, uint32_t n_ctx);
// Where a weight's rows of q or k are in a file that keeps so many leading dimensions of a head in pairs. Empty: as
// they are.
std::vector<uint32_t> row_order(const AttentionConfig& config, uint32_t n_rows, uint32_t n_interleaved);
// 0 where the dimension is not of this kind.
uint64_t size_of(const AttentionConfig& config, Dim dim);
Result<AttentionWeights> bind(const AttentionConfig& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const AttentionConfig& config, const AttentionWeights& weights);

}  // namespace realizar
