// The operations of a forward pass, cut at fused boundaries: one struct each, handles and numbers only. All activations
// are F32 [n_rows, n_cols]. `Rows::kLogits` means the compact rows that select_rows made. The scalar definition of each
// operation, and thus its specification, is backend/reference.
//
// visit() tells a visitor every field of an operation, in the order in which it is printed: reads(act), writes(act),
// adds_to(act) (which reads it too), matrix(name, weight), vector(name, weight) (both may be kNoWeight), and
// trait(name, value, what it is where nothing is said). Whatever is asked about operations in general is such a
// visitor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

namespace realizar {

enum class WeightId : uint32_t {};
// An activation, by its place in its program.
enum class ActId : uint32_t {};
inline constexpr WeightId kNoWeight{0xffffffffu};
inline constexpr ActId kNoAct{0xffffffffu};

// What an operation is for, and the model's layer that it belongs to (-1: none): for traces alone, no result depends on
// them.
enum class OpRole : uint8_t { kNone, kQkv, kO, kGateUp, kUp, kDown, kRouter, kHead, kAttn, kFfn, kPost, kFinal };
struct OpPlace {
  OpRole role = OpRole::kNone;
  int32_t layer = -1;
  bool operator==(const OpPlace&) const = default;
};

enum class Rows : uint8_t { kAll, kLogits };
enum class NormKind : uint8_t { kRms, kLayer };
// kGelu is the tanh approximation (0.5x(1+tanh(sqrt(2/pi)(x+0.044715x^3)))), kGeluErf the exact one.
enum class Activation : uint8_t { kNone, kSilu, kGelu, kGeluErf, kRelu, kReluSquared };

// out[r] = table[tokens[r]] * scale + position_table[positions[r]] (where there is one).
struct EmbedOp {
  static constexpr const char* kName = "embed";

  ActId out;  // [n_rows, d_model]
  WeightId table;
  WeightId position_table = kNoWeight;
  float scale = 1.0f;

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
    v.matrix("table", table);
    v.matrix("position_table", position_table);
    v.trait("scale", scale, 1.0f);
  }
  bool operator==(const EmbedOp&) const = default;
};

// y = normalized(in) * weight + bias; out = y, or out += y where `accumulate`. Sums in F32 or wider.
// kRms: in / sqrt(mean(in^2) + eps); kLayer: (in - mean) / sqrt(variance + eps).
struct NormOp {
  static constexpr const char* kName = "norm";

  ActId out, in;  // may be the same
  WeightId weight = kNoWeight;
  WeightId bias = kNoWeight;
  NormKind kind = NormKind::kRms;
  float eps = 0;
  bool accumulate = false;
  Rows rows = Rows::kAll;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    accumulate ? v.adds_to(out) : v.writes(out);
    v.reads(in);
    v.vector("weight", weight);
    v.vector("bias", bias);
    v.trait("kind", kind, NormKind::kRms);
    v.trait("eps", eps, 0.0f);
    v.trait("rows", rows, Rows::kAll);
  }
  bool operator==(const NormOp&) const = default;
};

// y = activation(in . weight^T + bias) * scale; then softcap * tanh(y / softcap) where softcap > 0;
// out = y, or out += y where `accumulate` (the residual).
struct LinearOp {
  static constexpr const char* kName = "linear";

  ActId out;  // [n_rows, weight.n_rows]
  ActId in;   // [n_rows, weight.n_cols]
  WeightId weight;
  WeightId bias = kNoWeight;
  Activation activation = Activation::kNone;
  float scale = 1.0f;
  float softcap = 0.0f;
  bool accumulate = false;
  Rows rows = Rows::kAll;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    accumulate ? v.adds_to(out) : v.writes(out);
    v.reads(in);
    v.matrix("weight", weight);
    v.vector("bias", bias);
    v.trait("activation", activation, Activation::kNone);
    v.trait("scale", scale, 1.0f);
    v.trait("softcap", softcap, 0.0f);
    v.trait("rows", rows, Rows::kAll);
  }
  bool operator==(const LinearOp&) const = default;
};

// out = activation(in . gate^T) * (in . up^T)
struct GatedLinearOp {
  static constexpr const char* kName = "linear";

  ActId out;  // [n_rows, d_ff]
  ActId in;   // [n_rows, d_model]
  WeightId gate, up;
  Activation activation = Activation::kSilu;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
    v.reads(in);
    v.matrix("gate", gate);
    v.matrix("up", up);
    v.trait("activation", activation, Activation::kNone);
  }
  bool operator==(const GatedLinearOp&) const = default;
};

// For each row and head: q/k RMS norm over head_dim (where given), then rotary embedding of q and k in place, then k
// and v are appended to the cache of `layer`. Pairs (i, i + n_rot/2) are rotated by positions[r] * inv_freq[i]; the
// results are multiplied by rope_scale (YaRN's and LongRoPE's attention factor). inv_freq = kNoWeight: no rotation.
struct RopeStoreOp {
  static constexpr const char* kName = "rope_store";

  ActId q;     // [n_rows, n_heads * head_dim]
  ActId k, v;  // [n_rows, n_kv_heads * head_dim]
  uint32_t layer;
  uint32_t n_heads, n_kv_heads, head_dim;
  WeightId inv_freq = kNoWeight;  // vector [n_rot / 2], F32
  uint32_t n_rot = 0;             // leading dimensions of a head that are rotated
  float rope_scale = 1.0f;
  WeightId q_norm = kNoWeight, k_norm = kNoWeight;  // vectors [head_dim]
  float norm_eps = 0;

  template <class Visitor>
  void visit(Visitor&& to) const {
    to.writes(q);
    to.writes(k);
    to.reads(q);
    to.reads(k);
    to.reads(v);
    to.trait("n_heads", n_heads, 0u);
    to.trait("n_kv_heads", n_kv_heads, 0u);
    to.trait("head_dim", head_dim, 0u);
    to.vector("inv_freq", inv_freq);
    to.trait("n_rot", n_rot, 0u);
    to.trait("rope_scale", rope_scale, 1.0f);
    to.vector("q_norm", q_norm);
    to.vector("k_norm", k_norm);
    to.trait("norm_eps", norm_eps, 0.0f);
  }
  bool operator==(const RopeStoreOp&) const = default;
};

// Causal attention of q over the cached keys and values of each row's sequence:
// s = scale * q.k; softcap * tanh(s / softcap) where softcap > 0; softmax over positions p with
// p <= pos and (window == 0 or pos - p < window); out = sum of weights * v. Query head h reads KV head
// h / (n_heads / n_kv_heads).
struct AttentionOp {
  static constexpr const char* kName = "attention";

  ActId out, q;  // [n_rows, n_heads * head_dim]
  uint32_t layer;
  uint32_t n_heads, n_kv_heads, head_dim;
  float scale;
  float softcap = 0.0f;
  uint32_t window = 0;

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
    v.reads(q);
    v.trait("n_heads", n_heads, 0u);
    v.trait("n_kv_heads", n_kv_heads, 0u);
    v.trait("head_dim", head_dim, 0u);
    v.trait("scale", scale, 1.0f);
    v.trait("softcap", softcap, 0.0f);
    v.trait("window", window, 0u);
  }
  bool operator==(const AttentionOp&) const = default;
};

// Chooses n_used experts a row: p = softmax(logits) over all experts, the n_used largest (ties to the lowest index),
// their weights divided by their sum where `renormalize`, then times `scale`.
struct RouteOp {
  static constexpr const char* kName = "route";

  ActId logits;   // [n_rows, n_experts]
  ActId weights;  // [n_rows, n_used] out
  ActId ids;      // [n_rows, n_used] out: expert indices as F32 (exact below 2^24)
  uint32_t n_experts, n_used;
  bool renormalize;
  float scale = 1.0f;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(weights);
    v.writes(ids);
    v.reads(logits);
    v.trait("n_experts", n_experts, 0u);
    v.trait("n_used", n_used, 0u);
    v.trait("renormalize", renormalize, false);
    v.trait("scale", scale, 1.0f);
  }
  bool operator==(const RouteOp&) const = default;
};

// out += sum over chosen experts e, in order of their rank, of weight_e * down_e . (activation(gate_e . in) * up_e .
// in)
struct ExpertsOp {
  static constexpr const char* kName = "experts";

  ActId out, in;  // [n_rows, d_model]
  ActId weights, ids;
  WeightId gate, up, down;  // [n_experts] matrices each
  uint32_t n_used, d_ff;    // experts of a token, and the width of one
  Activation activation = Activation::kSilu;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.adds_to(out);
    v.reads(in);
    v.reads(weights);
    v.reads(ids);
    v.matrix("gate", gate);
    v.matrix("up", up);
    v.matrix("down", down);
    v.trait("n_used", n_used, 0u);
    v.trait("d_ff", d_ff, 0u);
    v.trait("activation", activation, Activation::kNone);
  }
  bool operator==(const ExpertsOp&) const = default;
};

// out[i] = in[logit_rows[i]]
struct SelectRowsOp {
  static constexpr const char* kName = "select_rows";

  ActId out, in;

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
    v.reads(in);
  }
  bool operator==(const SelectRowsOp&) const = default;
};

// Chooses tokens from logit rows as StepBatch.choices say; nothing where there are none. A backend that cannot choose
// leaves it out, and all tokens to the caller.
struct ChooseOp {
  static constexpr const char* kName = "choose";

  ActId logits;  // [n_logit_rows, n_vocab]

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.reads(logits);
  }
  bool operator==(const ChooseOp&) const = default;
};

using Op = std::variant<EmbedOp, NormOp, LinearOp, GatedLinearOp, RopeStoreOp, AttentionOp, RouteOp, ExpertsOp,
                        SelectRowsOp, ChooseOp>;
// In the order of Op.
enum class OpKind : uint8_t {
  kEmbed,
  kNorm,
  kLinear,
  kGatedLinear,
  kRopeStore,
  kAttention,
  kRoute,
  kExperts,
  kSelectRows,
  kChoose
};
inline constexpr size_t kOpKinds = std::variant_size_v<Op>;
inline constexpr size_t kOpRoles = static_cast<size_t>(OpRole::kFinal) + 1;
static_assert(static_cast<size_t>(OpKind::kChoose) + 1 == kOpKinds);

inline OpKind kind_of(const Op& op) {
  return static_cast<OpKind>(op.index());
}
// "linear.qkv", "norm.attn", "attention"
std::string name_of(OpKind kind, OpRole role);

template <class One>
OpPlace place_of(const One& op) {
  if constexpr (requires { op.place; }) {
    return op.place;
  } else if constexpr (requires { op.layer; }) {
    return {OpRole::kNone, static_cast<int32_t>(op.layer)};
  } else {
    return {};
  }
}
template <class... Ops>
OpPlace place_of(const std::variant<Ops...>& op) {
  return std::visit([](const auto& one) { return place_of(one); }, op);
}

}  // namespace realizar
