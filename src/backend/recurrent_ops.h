// The operations that keep a state per sequence, in the form described in ops.h.
#pragma once

#include <cstdint>

#include "backend/op_types.h"

namespace realizar {

// A convolution along each sequence, column by column: out[r] = activation(bias + the sum over i < n_taps of weight[c,
// i] * in[r + 1 - n_taps + i]), where rows before a sequence's first come from earlier steps, or are zeros before
// position 0. Part `part` of the layer's state is the last n_taps - 1 rows of `in`, F32 [n_taps - 1, n_cols], oldest
// first. If several operations convolve the same rows, only the last keeps them.
struct ShortConvOp {
  static constexpr const char* kName = "short_conv";

  ActId out, in;  // [n_rows, n_cols]; not the same
  uint32_t layer, part;
  uint32_t n_taps;
  WeightId weight;            // vector [n_cols, n_taps]
  WeightId bias = kNoWeight;  // vector [n_cols]
  Activation activation = Activation::kNone;
  bool keeps_rows = true;

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
    v.reads(in);
    v.trait("part", part, 0u);
    v.trait("n_taps", n_taps, 0u);
    v.vector("weight", weight);
    v.vector("bias", bias);
    v.trait("activation", activation, Activation::kNone);
    v.trait("keeps_rows", keeps_rows, true);
  }
  bool operator==(const ShortConvOp&) const = default;
};

// A selective state space (Mamba, Mamba 2) along each sequence. For each head h and each of its dimensions i, with
// t = softplus(dt[r, h] + dt_bias[h]) and group g = h / (n_heads / n_groups), for each n < d_state:
// s[h, i, n] = s[h, i, n] * exp(t * a[h, n]) + t * x[r, h, i] * b[r, g, n];
// y[h, i] = the sum over n of s[h, i, n] * c[r, g, n], + d[h] * x[r, h, i]; out = y * silu(gate) (where there is one).
// x, b and c begin at a column of their activations. Part `part` of the layer's state is s, F32 [n_heads, head_dim,
// d_state]; zeros before position 0. Rows are processed in order, so s and y have the same bits however a sequence is
// cut into steps.
struct StateScanOp {
  static constexpr const char* kName = "state_scan";

  ActId out;      // [n_rows, n_heads * head_dim]
  ActId x, b, c;  // [n_rows, x_col + n_heads * head_dim or more], [n_rows, b_col + n_groups * d_state or more], ...
  ActId dt;       // [n_rows, n_heads]
  ActId gate = kNoAct;  // as out
  uint32_t x_col = 0, b_col = 0, c_col = 0;
  uint32_t layer, part;
  uint32_t n_heads, head_dim, n_groups, d_state;
  uint32_t a_cols = 1;  // d_state, or 1: the same for all n
  WeightId a;           // vector [n_heads, a_cols]
  WeightId d;           // vector [n_heads]
  WeightId dt_bias;     // vector [n_heads]

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
    v.reads(x);
    if (b != x) v.reads(b);
    if (c != b && c != x) v.reads(c);
    v.reads(dt);
    if (gate != kNoAct) v.reads(gate);
    v.trait("x_col", x_col, 0u);
    v.trait("b_col", b_col, 0u);
    v.trait("c_col", c_col, 0u);
    v.trait("part", part, 0u);
    v.trait("n_heads", n_heads, 0u);
    v.trait("head_dim", head_dim, 0u);
    v.trait("n_groups", n_groups, 1u);
    v.trait("d_state", d_state, 0u);
    v.trait("a_cols", a_cols, 1u);
    v.vector("a", a);
    v.vector("d", d);
    v.vector("dt_bias", dt_bias);
  }
  bool operator==(const StateScanOp&) const = default;
};

// A delta rule along each sequence (gated delta net, Kimi's delta attention): a state that maps keys to values decays,
// then forgets a share of the value at the row's key, and learns the row's value instead. For each head h, with key
// dimensions j, value dimensions i, and kh = h % n_key_heads where `key_heads_in_turn`, else h / (n_heads /
// n_key_heads):
// d[j] = exp(a[h] * softplus(decay[r, h, j] + decay_bias[h, j])), where decay_cols == 1 the same for all j;
// s[h, j, i] *= d[j]; u[i] = sigmoid(beta[r, h]) * (v[r, h, i] - the sum over j of s[h, j, i] * k[r, kh, j]);
// s[h, j, i] += k[r, kh, j] * u[i]; out[r, h, i] = the sum over j of s[h, j, i] * q[r, kh, j].
// q, k and v begin at a column of their activations; decay and beta become d and the sigmoid in place. Part `part` of
// the layer's state is s, F32 [n_heads, key_dim * value_dim] in a backend-defined order; zeros before position 0. Rows
// are processed in order, so s and out have the same bits however a sequence is cut into steps.
struct DeltaRuleOp {
  static constexpr const char* kName = "delta_rule";

  ActId out;      // [n_rows, n_heads * value_dim]
  ActId q, k, v;  // [n_rows, q_col + n_key_heads * key_dim or more], ..., [n_rows, v_col + n_heads * value_dim or more]
  ActId decay;    // [n_rows, n_heads * decay_cols]
  ActId beta;     // [n_rows, n_heads]
  uint32_t q_col = 0, k_col = 0, v_col = 0;
  uint32_t layer, part;
  uint32_t n_heads, n_key_heads, key_dim, value_dim;
  uint32_t decay_cols = 1;  // key_dim, or 1
  bool key_heads_in_turn = false;
  WeightId a;           // vector [n_heads]
  WeightId decay_bias;  // vector [n_heads * decay_cols]

  template <class Visitor>
  void visit(Visitor&& to) const {
    to.writes(out);
    to.writes(decay);
    to.writes(beta);
    to.reads(q);
    if (k != q) to.reads(k);
    if (v != k && v != q) to.reads(v);
    to.reads(decay);
    to.reads(beta);
    to.trait("q_col", q_col, 0u);
    to.trait("k_col", k_col, 0u);
    to.trait("v_col", v_col, 0u);
    to.trait("part", part, 0u);
    to.trait("n_heads", n_heads, 0u);
    to.trait("n_key_heads", n_key_heads, 0u);
    to.trait("key_dim", key_dim, 0u);
    to.trait("value_dim", value_dim, 0u);
    to.trait("decay_cols", decay_cols, 1u);
    to.trait("key_heads_in_turn", key_heads_in_turn, false);
    to.vector("a", a);
    to.vector("decay_bias", decay_bias);
  }
  bool operator==(const DeltaRuleOp&) const = default;
};

// RWKV-7's time mix along each sequence (Peng et al. 2025, "RWKV-7 Goose", section 4): a state that maps keys to values
// decays per key dimension, then forgets a share of the value at a removal key, and adds the row's value. For each
// head, with key dimensions j and value dimensions i:
// d[j] = exp(-e^-0.5 * sigmoid(decay[j])); c[j] = sigmoid(rate[j]); where there is first_v,
// v[i] += (first_v[i] - v[i]) * sigmoid(v_share[i]);
// z[j] = k[j] * removal_scale[j], divided by its length over the head or by 1e-12 if that is more;
// k[j] *= 1 + (c[j] - 1) * rate_scale[j]; u[i] = the sum over j of s[j, i] * z[j];
// s[j, i] = s[j, i] * d[j] - u[i] * c[j] * z[j] + k[j] * v[i]; out[i] = the sum over j of s[j, i] * r[j];
// bonus[i] = v[i] * the sum over j of r[j] * k[j] * bonus_scale[j].
// decay, k, v and v_share become d, k, v and the sigmoid in place, rate becomes c * z, and `removal` receives z. Part
// `part` of the layer's state is s, F32 [n_heads, head_dim * head_dim] in a backend-defined order; zeros before
// position 0. Rows are processed in order, so s and out have the same bits however a sequence is cut into steps.
struct WkvOp {
  static constexpr const char* kName = "wkv";

  ActId out, bonus;                          // [n_rows, n_heads * head_dim], as are all of these
  ActId r, decay, k, v, rate;                // all but r in place
  ActId removal;                             // output
  ActId first_v = kNoAct, v_share = kNoAct;  // kNoAct: v is not mixed
  uint32_t layer, part;
  uint32_t n_heads, head_dim;
  WeightId removal_scale, rate_scale, bonus_scale;  // vectors [n_heads * head_dim]

  template <class Visitor>
  void visit(Visitor&& to) const {
    const bool mixes_v = first_v != kNoAct;
    to.writes(out);
    to.writes(bonus);
    to.writes(decay);
    to.writes(k);
    to.writes(rate);
    to.writes(removal);
    if (mixes_v) to.writes(v);
    if (mixes_v) to.writes(v_share);
    to.reads(r);
    to.reads(decay);
    to.reads(k);
    to.reads(v);
    to.reads(rate);
    if (mixes_v) to.reads(first_v);
    if (mixes_v) to.reads(v_share);
    to.trait("part", part, 0u);
    to.trait("n_heads", n_heads, 0u);
    to.trait("head_dim", head_dim, 0u);
    to.vector("removal_scale", removal_scale);
    to.vector("rate_scale", rate_scale);
    to.vector("bonus_scale", bonus_scale);
  }
  bool operator==(const WkvOp&) const = default;
};
// e^-0.5: a row keeps at least 0.545 of a state.
inline constexpr float kWkvDecay = 0.60653066f;
inline constexpr float kWkvLeastLength = 1e-12f;

}  // namespace realizar
