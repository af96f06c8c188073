// The operations of a forward pass, cut at fused boundaries: one struct each, with handles and numbers only. All
// activations are F32 [n_rows, n_cols]. `Rows::kLogits` are the compact rows made by select_rows. backend/reference is
// the scalar definition of each operation, and thus its specification.
//
// visit() passes every field of an operation to a visitor, in printing order: reads(act), writes(act), adds_to(act)
// (which also reads), matrix(name, weight), vector(name, weight) (both may be kNoWeight), and trait(name, value,
// default). Generic questions about operations are such visitors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "backend/adapter_ops.h"
#include "backend/exchange_ops.h"
#include "backend/op_types.h"
#include "backend/recurrent_ops.h"

namespace realizar {

// out[r] = table[t] * scale + type_table[type] + position_table[positions[r]] (for tables that are present), where t is
// tokens[r] modulo the rows of `table` and type is the quotient.
struct EmbedOp {
  static constexpr const char* kName = "embed";

  ActId out;  // [n_rows, d_model]
  WeightId table;
  WeightId position_table = kNoWeight;
  WeightId type_table = kNoWeight;
  float scale = 1.0f;

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
    v.matrix("table", table);
    v.matrix("position_table", position_table);
    v.matrix("type_table", type_table);
    v.trait("scale", scale, 1.0f);
  }
  bool operator==(const EmbedOp&) const = default;
};

// y = normalized(in) * weight + bias; out = y, or out + y where `accumulate`, times `scale`. Sums in F32 or wider.
// kRms: in / sqrt(mean(in^2) + eps); kLayer: (in - mean) / sqrt(variance + eps); over the row, or over each of n_groups
// equal parts. Weight and bias have one element per column. With `like`, normalized(in) is multiplied by the root mean
// square of that row.
struct NormOp {
  static constexpr const char* kName = "norm";

  ActId out, in;        // may be the same
  ActId like = kNoAct;  // [n_rows, any]; not with groups
  WeightId weight = kNoWeight;
  WeightId bias = kNoWeight;
  NormKind kind = NormKind::kRms;
  float eps = 0;
  bool accumulate = false;
  float scale = 1.0f;
  uint32_t n_groups = 1;
  Rows rows = Rows::kAll;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    accumulate ? v.adds_to(out) : v.writes(out);
    v.reads(in);
    if (like != kNoAct) v.reads(like);
    v.vector("weight", weight);
    v.vector("bias", bias);
    v.trait("kind", kind, NormKind::kRms);
    v.trait("eps", eps, 0.0f);
    v.trait("scale", scale, 1.0f);
    v.trait("n_groups", n_groups, 1u);
    v.trait("rows", rows, Rows::kAll);
  }
  bool operator==(const NormOp&) const = default;
};

// y = epilogue(in . weight^T + bias); out = y, or out += y where `accumulate` (the residual).
struct LinearOp {
  static constexpr const char* kName = "linear";

  ActId out;  // [n_rows, weight.n_rows]
  ActId in;   // [n_rows, weight.n_cols]
  WeightId weight;
  WeightId bias = kNoWeight;
  Epilogue epilogue = {};
  bool accumulate = false;
  Rows rows = Rows::kAll;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    accumulate ? v.adds_to(out) : v.writes(out);
    v.reads(in);
    v.matrix("weight", weight);
    v.vector("bias", bias);
    epilogue.visit(v);
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

// For each row and head: clamps q, k and v to [-clip, clip] where clip > 0; then applies the q/k RMS norms over
// head_dim (if given) and the rotary embedding of q and k in place, in this order unless norms_last; then appends k and
// v to the cache of `layer`, if given: a layer without them attends to the cache of another layer. Pairs (i, i +
// n_rot/2) are rotated by positions[r] * inv_freq[i]; the results are multiplied by rope_scale (the attention factor of
// YaRN and LongRoPE). Without inv_freq nothing is rotated. Last, q is multiplied by its temperature at positions[r].
struct RopeStoreOp {
  static constexpr const char* kName = "rope_store";

  ActId q;     // [n_rows, n_heads * head_dim]
  ActId k, v;  // [n_rows, n_kv_heads * head_dim], v may be clamped in place; kNoAct if n_kv_heads is 0
  uint32_t layer;
  uint32_t n_heads, n_kv_heads, head_dim;
  WeightId inv_freq = kNoWeight;  // vector [n_rot / 2], F32
  uint32_t n_rot = 0;             // leading dimensions of a head that are rotated
  float rope_scale = 1.0f;
  WeightId q_norm = kNoWeight, k_norm = kNoWeight;  // vectors [head_dim]
  float norm_eps = 0;
  bool norms_last = false;
  float clip = 0.0f;
  Temperature temperature = {};

  template <class Visitor>
  void visit(Visitor&& to) const {
    to.writes(q);
    if (k != kNoAct) to.writes(k);
    if (v != kNoAct && clip > 0) to.writes(v);
    to.reads(q);
    if (k != kNoAct) to.reads(k);
    if (v != kNoAct) to.reads(v);
    to.trait("n_heads", n_heads, 0u);
    to.trait("n_kv_heads", n_kv_heads, 0u);
    to.trait("head_dim", head_dim, 0u);
    to.vector("inv_freq", inv_freq);
    to.trait("n_rot", n_rot, 0u);
    to.trait("rope_scale", rope_scale, 1.0f);
    to.vector("q_norm", q_norm);
    to.vector("k_norm", k_norm);
    to.trait("norm_eps", norm_eps, 0.0f);
    to.trait("norms_last", norms_last, false);
    to.trait("clip", clip, 0.0f);
    temperature.visit(to);
  }
  bool operator==(const RopeStoreOp&) const = default;
};

// out[r, h] = in[r, h] . weight_h^T: a separate product for each head h of a row. Heads are in_width and out_width
// elements apart; the product reads and writes the leading ones.
struct HeadLinearOp {
  static constexpr const char* kName = "head_linear";

  ActId out;        // [n_rows, n_heads * out_width]
  ActId in;         // [n_rows, n_heads * in_width]
  WeightId weight;  // a stack of n_heads matrices
  uint32_t n_heads, in_width, out_width;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
    v.reads(in);
    v.matrix("weight", weight);
    v.trait("n_heads", n_heads, 0u);
    v.trait("in_width", in_width, 0u);
    v.trait("out_width", out_width, 0u);
  }
  bool operator==(const HeadLinearOp&) const = default;
};

// A row of `latent` is latent_dim elements, which are RMS-normalized, and a key of n_rot, which is rotated; both are
// appended to the cache of `layer` as one key without a value. The last n_rot elements of each head of q are rotated
// into the last ones of that head of `query`. Rotation and temperature of `query` are as in RopeStoreOp.
struct LatentStoreOp {
  static constexpr const char* kName = "latent_store";

  ActId query;   // [n_rows, n_heads * (latent_dim + n_rot)]
  ActId q;       // [n_rows, n_heads * query_dim]
  ActId latent;  // [n_rows, latent_dim + n_rot], in place
  uint32_t layer;
  uint32_t n_heads, query_dim, latent_dim, n_rot;
  WeightId inv_freq = kNoWeight;  // vector [n_rot / 2], F32
  float rope_scale = 1.0f;
  WeightId norm = kNoWeight;  // vector [latent_dim]
  float norm_eps = 0;
  Temperature temperature = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(query);
    v.writes(latent);
    v.reads(query);
    v.reads(q);
    v.reads(latent);
    v.trait("n_heads", n_heads, 0u);
    v.trait("query_dim", query_dim, 0u);
    v.trait("latent_dim", latent_dim, 0u);
    v.trait("n_rot", n_rot, 0u);
    v.vector("inv_freq", inv_freq);
    v.trait("rope_scale", rope_scale, 1.0f);
    v.vector("norm", norm);
    v.trait("norm_eps", norm_eps, 0.0f);
    temperature.visit(v);
  }
  bool operator==(const LatentStoreOp&) const = default;
};

// Attention of q over the cached keys and values of each row's sequence: s = scale * q.k - slopes[h] * |pos - p| (with
// slopes: ALiBi); softcap * tanh(s / softcap) where softcap > 0; softmax over positions p with p <= pos and (window ==
// 0 or pos - p < window), and over sinks[h] (if given), which have no value; out = sum of weights * v. Query head h
// reads KV head h / (n_heads / n_kv_heads). Where latent_dim > 0 the cache has only keys, and a key's value is its
// first latent_dim elements. Where `is_bidirectional` attention is bidirectional: p extends to the last position of the
// sequence's rows in the step (within p - pos < window, if there is one); such a step has no decode rows.
struct AttentionOp {
  static constexpr const char* kName = "attention";

  ActId out;  // [n_rows, n_heads * value_dim()]
  ActId q;    // [n_rows, n_heads * head_dim]
  uint32_t layer;
  uint32_t n_heads, n_kv_heads, head_dim;
  float scale;
  float softcap = 0.0f;
  uint32_t window = 0;
  bool is_chunked = false;        // the window restarts at each of its multiples
  bool is_bidirectional = false;  // bidirectional over the rows of the sequence in the step; not with is_chunked
  WeightId sinks = kNoWeight;     // vector [n_heads]
  WeightId slopes = kNoWeight;    // vector [n_heads]
  uint32_t latent_dim = 0;

  constexpr uint32_t value_dim() const { return latent_dim > 0 ? latent_dim : head_dim; }
  // The first position that a row at `pos` attends to.
  constexpr uint32_t first_seen(uint32_t pos) const {
    if (window == 0) return 0;
    if (is_chunked) return pos - pos % window;
    return pos >= window ? pos + 1 - window : 0;
  }
  // The end of the positions it attends to; the sequence has n_positions after the step.
  constexpr uint32_t end_seen(uint32_t pos, uint32_t n_positions) const {
    if (!is_bidirectional) return pos + 1;
    return window == 0 || n_positions - pos < window ? n_positions : pos + window;
  }

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
    v.reads(q);
    v.vector("sinks", sinks);
    v.vector("slopes", slopes);
    v.trait("n_heads", n_heads, 0u);
    v.trait("n_kv_heads", n_kv_heads, 0u);
    v.trait("head_dim", head_dim, 0u);
    v.trait("scale", scale, 1.0f);
    v.trait("softcap", softcap, 0.0f);
    v.trait("window", window, 0u);
    v.trait("is_chunked", is_chunked, false);
    v.trait("is_bidirectional", is_bidirectional, false);
    v.trait("latent_dim", latent_dim, 0u);
  }
  bool operator==(const AttentionOp&) const = default;
};

// Lower bound of the chosen scores' sum as a divisor: sigmoids may all be near 0.
inline constexpr float kLeastScoreSum = 0x1p-14f;

// Chooses n_used experts per row: those with the largest score + bias (ties to the lowest index). With n_groups equal
// groups of adjacent experts, only the n_used_groups groups whose n_group_best largest have the largest sum compete
// (ties to the lowest index). Weights are the scores (without bias), divided by their sum where `renormalize`, then
// times `scale`, and times the expert's element of `scales` if given. SparseMixer chooses by logits: without bias,
// groups and `renormalize`.
struct RouteOp {
  static constexpr const char* kName = "route";

  ActId logits;   // [n_rows, n_experts]
  ActId weights;  // [n_rows, n_used] out
  ActId ids;      // [n_rows, n_used] out: expert indices as F32 (exact below 2^24)
  uint32_t n_experts, n_used;
  bool renormalize;
  float scale = 1.0f;
  RouteScore score = RouteScore::kSoftmax;
  WeightId bias = kNoWeight;  // vector [n_experts]
  uint32_t n_groups = 1, n_used_groups = 1;
  uint32_t n_group_best = 1;    // 1 or 2
  WeightId scales = kNoWeight;  // vector [n_experts]
  float near_share = 0;         // for SparseMixer
  OpPlace place = {};

  // Whether the logits can choose, since scores have their order.
  bool chooses_by_logits() const { return bias == kNoWeight && n_groups == 1; }

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(weights);
    v.writes(ids);
    v.reads(logits);
    v.trait("n_experts", n_experts, 0u);
    v.trait("n_used", n_used, 0u);
    v.trait("renormalize", renormalize, false);
    v.trait("scale", scale, 1.0f);
    v.trait("score", score, RouteScore::kSoftmax);
    v.vector("bias", bias);
    v.trait("n_groups", n_groups, 1u);
    v.trait("n_used_groups", n_used_groups, 1u);
    v.trait("n_group_best", n_group_best, 1u);
    v.vector("scales", scales);
    v.trait("near_share", near_share, 0.0f);
  }
  bool operator==(const RouteOp&) const = default;
};

// out += sum over chosen experts e, in rank order, of weight_e * (down_e . (activation(gate_e . in + gate_bias_e) *
// (up_e . in + up_bias_e)) + down_bias_e). Where `weighs_input`, weight_e multiplies gate_e . in and up_e . in instead
// of the output. The stacks hold the experts from first_expert on; chosen experts that they do not hold add nothing.
struct ExpertsOp {
  static constexpr const char* kName = "experts";

  ActId out, in;  // [n_rows, d_model]
  ActId weights, ids;
  WeightId gate, up, down;                              // [n_held] matrices each
  WeightId gate_bias = kNoWeight, up_bias = kNoWeight;  // vectors [n_held, d_ff]
  WeightId down_bias = kNoWeight;                       // vector [n_held, d_model]
  uint32_t n_used, d_ff;                                // experts per token, and the width of one
  Activation activation = Activation::kSilu;
  bool weighs_input = false;
  uint32_t first_expert = 0;
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
    v.vector("gate_bias", gate_bias);
    v.vector("up_bias", up_bias);
    v.vector("down_bias", down_bias);
    v.trait("n_used", n_used, 0u);
    v.trait("d_ff", d_ff, 0u);
    v.trait("activation", activation, Activation::kNone);
    v.trait("weighs_input", weighs_input, false);
    v.trait("first_expert", first_expert, 0u);
  }
  bool operator==(const ExpertsOp&) const = default;
};

// y = in * sigmoid(gate), or in * gate where `is_factor`; out = y, or out += y where `accumulate`. One gate per row, or
// one per column: the columns of `gate` from gate_col on.
struct GateOp {
  static constexpr const char* kName = "gate";

  ActId out, in;  // [n_rows, n_cols], may be the same
  ActId gate;     // [n_rows, 1], or gate_col + n_cols columns or more
  uint32_t gate_col = 0;
  bool is_factor = false;
  bool accumulate = false;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    accumulate ? v.adds_to(out) : v.writes(out);
    v.reads(in);
    v.reads(gate);
    v.trait("gate_col", gate_col, 0u);
    v.trait("is_factor", is_factor, false);
  }
  bool operator==(const GateOp&) const = default;
};

// out = activation(max(0, in - mean - n_stds * std)), with the row's mean and standard deviation, the root of the mean
// squared distance from the mean (Gemma 3n's activation sparsity).
struct CutOp {
  static constexpr const char* kName = "cut";

  ActId out, in;  // [n_rows, n_cols], may be the same
  float n_stds;
  Activation activation = Activation::kNone;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
    v.reads(in);
    v.trait("n_stds", n_stds, 0.0f);
    v.trait("activation", activation, Activation::kNone);
  }
  bool operator==(const CutOp&) const = default;
};

// AltUp (Baykal et al. 2023): a row has several states s_i, of which each layer computes only the first, in x. With
// k[i] = the sum over j of coefs[i, j] * router[r, j], it predicts the layer's effect on all of them, s_i += the sum
// over j of k[i * n_streams + j] * s_j (the previous s_j), x = s_0; or, where it `corrects`, it adds the layer's
// deviation from the prediction: d = x - s_0, s_i += (1 + k[i]) * d, x = s_0 * scale (the new s_0).
struct AltUpOp {
  static constexpr const char* kName = "altup";

  ActId x;                     // [n_rows, n_cols]
  Streams streams;             // [n_rows, n_cols] each
  uint32_t n_streams;          // 2 or more
  ActId router;                // [n_rows, n_streams]
  WeightId coefs;              // vector [n_streams * n_streams, n_streams]; where it corrects, [n_streams, n_streams]
  WeightId scale = kNoWeight;  // vector [n_cols], where it corrects
  bool corrects = false;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(x);
    for (uint32_t i = 0; i < n_streams; ++i) v.writes(streams[i]);
    if (corrects) v.reads(x);
    for (uint32_t i = 0; i < n_streams; ++i) v.reads(streams[i]);
    v.reads(router);
    v.vector("coefs", coefs);
    v.vector("scale", scale);
    v.trait("corrects", corrects, false);
  }
  bool operator==(const AltUpOp&) const = default;
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

// Chooses tokens from logit rows as StepBatch.choices specify; none without choices. A backend that cannot choose omits
// it and leaves all tokens to the caller.
struct ChooseOp {
  static constexpr const char* kName = "choose";

  ActId logits;  // [n_logit_rows, n_vocab]

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.reads(logits);
  }
  bool operator==(const ChooseOp&) const = default;
};

using Op = std::variant<EmbedOp, NormOp, LinearOp, GatedLinearOp, RopeStoreOp, HeadLinearOp, LatentStoreOp, AttentionOp,
                        RouteOp, ExpertsOp, GateOp, SelectRowsOp, ChooseOp, ShortConvOp, StateScanOp, DeltaRuleOp,
                        CutOp, AltUpOp, WkvOp, AdapterDownOp, AdapterUpOp, JoinOp, CollectOp, SendOp, ReceiveOp>;
// In the order of Op.
enum class OpKind : uint8_t {
  kEmbed,
  kNorm,
  kLinear,
  kGatedLinear,
  kRopeStore,
  kHeadLinear,
  kLatentStore,
  kAttention,
  kRoute,
  kExperts,
  kGate,
  kSelectRows,
  kChoose,
  kShortConv,
  kStateScan,
  kDeltaRule,
  kCut,
  kAltUp,
  kWkv,
  kAdapterDown,
  kAdapterUp,
  kJoin,
  kCollect,
  kSend,
  kReceive
};
inline constexpr size_t kOpKinds = std::variant_size_v<Op>;
static_assert(static_cast<size_t>(OpKind::kReceive) + 1 == kOpKinds);

inline OpKind kind_of(const Op& op) {
  return static_cast<OpKind>(op.index());
}

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
