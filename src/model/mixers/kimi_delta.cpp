#include "model/mixers/kimi_delta.h"

#include <cmath>
#include <vector>

#include "base/try.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {
namespace {

enum KimiPart : uint32_t { kConvOfQ, kConvOfK, kConvOfV, kKimiState };

ActId add_low_rank(LayerBuilder& b, const KimiDeltaConfig& c, const char* name, WeightId low, WeightId weight) {
  const ActId rank = b.scratch("kimi_low", c.head_dim), out = b.scratch(name, c.n_inner());
  b.add(LinearOp{.out = rank, .in = b.in(), .weight = low, .place = b.place(OpRole::kQkv)});
  b.add(LinearOp{.out = out, .in = rank, .weight = weight, .place = b.place(OpRole::kQkv)});
  return out;
}

// A projected and convolved input, normalized to the length given by `scale` unless that is kNoWeight.
struct Convolved {
  const char* name;
  WeightId weight, conv, scale;
  KimiPart part;
};

ActId add_convolved(LayerBuilder& b, const KimiDeltaConfig& c, const Convolved& what) {
  const ActId in = b.scratch("kimi_conv_in", c.n_inner()), out = b.scratch(what.name, c.n_inner());
  const OpPlace place = b.place(OpRole::kQkv);
  b.add(LinearOp{.out = in, .in = b.in(), .weight = what.weight, .place = place});
  b.add(ShortConvOp{.out = out,
                    .in = in,
                    .layer = b.layer(),
                    .part = what.part,
                    .n_taps = c.n_taps,
                    .weight = what.conv,
                    .activation = Activation::kSilu});
  if (what.scale == kNoWeight) return out;
  b.add(NormOp{.out = out,
               .in = out,
               .weight = what.scale,
               .eps = b.norm_eps() / static_cast<float>(c.head_dim),
               .n_groups = c.n_heads,
               .place = place});
  return out;
}

}  // namespace

StateLayout state_layout(const KimiDeltaConfig& c, uint32_t) {
  const size_t conv = size_t{c.n_taps - 1} * c.n_inner() * sizeof(float);
  return Recurrent{{conv, conv, conv, size_t{c.head_dim} * c.n_inner() * sizeof(float)}};
}

uint64_t size_of(const KimiDeltaConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kQ:
    case Dim::kAttended:
    case Dim::kSsmInner:
      return c.n_inner();
    case Dim::kSsmHeads:
      return c.n_heads;
    case Dim::kSsmGroup:
      return c.head_dim;
    case Dim::kTaps:
      return c.n_taps;
    default:
      return 0;
  }
}

Result<KimiDeltaWeights> bind(const KimiDeltaConfig& c, TensorBinder& tensors) {
  KimiDeltaWeights w;
  RZ_TRY(w.wq, tensors.matrix(Role::kWq));
  RZ_TRY(w.wk, tensors.matrix(Role::kWk));
  RZ_TRY(w.wv, tensors.matrix(Role::kWv));
  RZ_TRY(w.conv_q, tensors.vector(Role::kConvQ));
  RZ_TRY(w.conv_k, tensors.vector(Role::kConvK));
  RZ_TRY(w.conv_v, tensors.vector(Role::kConvV));
  RZ_TRY(w.w_decay_low, tensors.matrix(Role::kDecayLow));
  RZ_TRY(w.w_decay, tensors.matrix(Role::kDeltaDecay));
  RZ_TRY(w.w_gate_low, tensors.matrix(Role::kGateLow));
  RZ_TRY(w.w_gate, tensors.matrix(Role::kDeltaGate));
  RZ_TRY(w.w_beta, tensors.matrix(Role::kDeltaBeta));
  RZ_TRY(w.a, tensors.decay());
  RZ_TRY(w.dt_bias, tensors.vector(Role::kSsmDtBias));
  RZ_TRY(w.norm, tensors.repeated_vector(Role::kSsmNorm, c.n_heads));
  RZ_TRY(w.wo, tensors.matrix(Role::kWo));
  const float length = 1 / std::sqrt(static_cast<float>(c.head_dim));
  RZ_TRY(w.q_scale, tensors.upload(std::vector<float>(c.n_inner(), length * length)));
  RZ_TRY(w.k_scale, tensors.upload(std::vector<float>(c.n_inner(), length)));
  return w;
}

void add_to(LayerBuilder& b, const KimiDeltaConfig& c, const KimiDeltaWeights& w) {
  const ActId q = add_convolved(b, c, {"kimi_q", w.wq, w.conv_q, w.q_scale, kConvOfQ});
  const ActId k = add_convolved(b, c, {"kimi_k", w.wk, w.conv_k, w.k_scale, kConvOfK});
  const ActId v = add_convolved(b, c, {"kimi_v", w.wv, w.conv_v, kNoWeight, kConvOfV});
  const ActId decay = add_low_rank(b, c, "kimi_decay", w.w_decay_low, w.w_decay);
  const ActId gate = add_low_rank(b, c, "kimi_gate", w.w_gate_low, w.w_gate);
  const ActId beta = b.scratch("kimi_beta", c.n_heads), out = b.scratch("kimi_out", c.n_inner());
  b.add(LinearOp{.out = beta, .in = b.in(), .weight = w.w_beta, .place = b.place(OpRole::kQkv)});
  b.add(DeltaRuleOp{.out = out,
                    .q = q,
                    .k = k,
                    .v = v,
                    .decay = decay,
                    .beta = beta,
                    .layer = b.layer(),
                    .part = kKimiState,
                    .n_heads = c.n_heads,
                    .n_key_heads = c.n_heads,
                    .key_dim = c.head_dim,
                    .value_dim = c.head_dim,
                    .decay_cols = c.head_dim,
                    .a = w.a,
                    .decay_bias = w.dt_bias});
  const OpPlace place = b.place(OpRole::kO);
  b.add(NormOp{.out = out, .in = out, .weight = w.norm, .eps = b.norm_eps(), .n_groups = c.n_heads, .place = place});
  b.add(GateOp{.out = out, .in = out, .gate = gate, .place = place});
  b.add_to_stream(LinearOp{.out = b.out(), .in = out, .weight = w.wo, .place = place});
}

}  // namespace realizar
