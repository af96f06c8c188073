#include "model/mixers/rwkv7.h"

#include <vector>

#include "base/try.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {
namespace {

// One tensor for all mixes, or one each.
Result<std::vector<float>> read_shares(TensorBinder& tensors) {
  if (tensors.is_gguf() || tensors.is_in_file(Role::kShifts)) return tensors.values(Role::kShifts);
  std::vector<float> all;
  for (const Role role :
       {Role::kShiftR, Role::kShiftDecay, Role::kShiftK, Role::kShiftV, Role::kShiftRate, Role::kShiftGate}) {
    RZ_TRY(const auto shares, tensors.values(role));
    all.insert(all.end(), shares.begin(), shares.end());
  }
  return all;
}

Result<LowRankWeights> bind_low_rank(TensorBinder& tensors, Role low, Role w, std::optional<Role> bias) {
  LowRankWeights weights;
  RZ_TRY(weights.low, tensors.matrix(low));
  RZ_TRY(weights.w, tensors.matrix(w));
  if (bias) {
    RZ_TRY(weights.bias, tensors.vector(*bias));
  }
  return weights;
}

Status bind_low_ranks(const Rwkv7Config& c, TensorBinder& tensors, Rwkv7Weights& w) {
  RZ_TRY(w.decay, bind_low_rank(tensors, Role::kDecayLow, Role::kDeltaDecay, Role::kDecayBias));
  RZ_TRY(w.rate, bind_low_rank(tensors, Role::kRateLow, Role::kRate, Role::kRateBias));
  RZ_TRY(w.gate, bind_low_rank(tensors, Role::kGateLow, Role::kDeltaGate, std::nullopt));
  if (!c.is_first) {
    RZ_TRY(w.v_share, bind_low_rank(tensors, Role::kVShareLow, Role::kVShare, Role::kVShareBias));
    return {};
  }
  // Files may have them for the first layer too.
  for (const Role role : {Role::kVShareLow, Role::kVShare, Role::kVShareBias}) tensors.ignore(role);
  return {};
}

constexpr Epilogue kTanh{.softcap = 1.0f};

struct LowRank {
  const char* name;
  uint32_t rank;
  Epilogue epilogue = {};  // of the low rank
};

ActId add_low_rank(LayerBuilder& b, const LowRank& what, const LowRankWeights& w, ActId in) {
  const ActId low = b.scratch(std::string(what.name) + "_low", what.rank), out = b.scratch(what.name, b.d_model());
  const OpPlace place = b.place(OpRole::kQkv);
  b.add(LinearOp{.out = low, .in = in, .weight = w.low, .epilogue = what.epilogue, .place = place});
  b.add(LinearOp{.out = out, .in = low, .weight = w.w, .bias = w.bias, .place = place});
  return out;
}

// A mix of each row and the previous one, valid until the next call. All mixes read the same state, which the last one
// updates.
ActId add_shift(LayerBuilder& b, const Rwkv7Weights& w, Rwkv7Mix mix, bool is_last = false) {
  const ActId out = b.scratch("shift", b.d_model());
  b.add(ShortConvOp{.out = out,
                    .in = b.in(),
                    .layer = b.layer(),
                    .part = kTimeShift,
                    .n_taps = 2,
                    .weight = w.shifts[static_cast<size_t>(mix)],
                    .keeps_rows = is_last});
  return out;
}

ActId add_projection(LayerBuilder& b, const char* name, WeightId weight, ActId in) {
  const ActId out = b.scratch(name, b.d_model());
  b.add(LinearOp{.out = out, .in = in, .weight = weight, .place = b.place(OpRole::kQkv)});
  return out;
}

}  // namespace

StateLayout state_layout(const Rwkv7Config& c, uint32_t) {
  const size_t row = size_t{c.d_model()} * sizeof(float);
  return Recurrent{{row, c.head_dim * row, row}};
}

uint64_t size_of(const Rwkv7Config& c, Dim dim) {
  switch (dim) {
    case Dim::kShifts:
      return kRwkv7Mixes;
    case Dim::kSsmHeads:
      return c.n_heads;
    case Dim::kSsmGroup:
      return c.head_dim;
    case Dim::kDecayRank:
      return c.decay_rank;
    case Dim::kRateRank:
      return c.rate_rank;
    case Dim::kVShareRank:
      return c.v_rank;
    case Dim::kGateRank:
      return c.gate_rank;
    default:
      return 0;
  }
}

Result<WeightId> upload_shift(TensorBinder& tensors, const float* shares, size_t d_model) {
  std::vector<float> taps;
  for (size_t i = 0; i < d_model; ++i) taps.insert(taps.end(), {shares[i], 1 - shares[i]});
  return tensors.upload(taps);
}

Result<Rwkv7Weights> bind(const Rwkv7Config& c, TensorBinder& tensors) {
  Rwkv7Weights w;
  RZ_TRY(const std::vector<float> shares, read_shares(tensors));
  for (size_t mix = 0; mix < kRwkv7Mixes; ++mix) {
    RZ_TRY(w.shifts[mix], upload_shift(tensors, shares.data() + mix * c.d_model(), c.d_model()));
  }
  RZ_TRY(w.wr, tensors.matrix(Role::kWq));
  RZ_TRY(w.wk, tensors.matrix(Role::kWk));
  RZ_TRY(w.wv, tensors.matrix(Role::kWv));
  RZ_CHECK_OK(bind_low_ranks(c, tensors, w));
  RZ_TRY(w.removal_scale, tensors.vector(Role::kRemovalScale));
  RZ_TRY(w.rate_scale, tensors.vector(Role::kRateScale));
  RZ_TRY(w.bonus_scale, tensors.vector(Role::kBonusScale));
  RZ_TRY(w.norm, tensors.vector(Role::kSsmNorm));
  RZ_TRY(w.norm_bias, tensors.vector(Role::kSsmNormBias));
  RZ_TRY(w.wo, tensors.matrix(Role::kWo));
  return w;
}

void add_to(LayerBuilder& b, const Rwkv7Config& c, const Rwkv7Weights& w) {
  WkvOp op{};
  op.layer = b.layer(), op.part = kWkvState;
  op.n_heads = c.n_heads, op.head_dim = c.head_dim;
  op.removal_scale = w.removal_scale, op.rate_scale = w.rate_scale, op.bonus_scale = w.bonus_scale;
  op.out = b.scratch("wkv", b.d_model());
  op.bonus = b.scratch("wkv_bonus", b.d_model());
  op.removal = b.scratch("wkv_removal", b.d_model());
  op.r = add_projection(b, "wkv_r", w.wr, add_shift(b, w, Rwkv7Mix::kR));
  op.k = add_projection(b, "wkv_k", w.wk, add_shift(b, w, Rwkv7Mix::kK));
  const ActId v_in = add_shift(b, w, Rwkv7Mix::kV);
  op.v = add_projection(b, c.is_first ? "wkv_first_v" : "wkv_v", w.wv, v_in);
  if (!c.is_first) {
    op.first_v = b.scratch("wkv_first_v", b.d_model());
    op.v_share = add_low_rank(b, {"wkv_v_share", c.v_rank}, w.v_share, v_in);
  }
  op.decay = add_low_rank(b, {"wkv_decay", c.decay_rank, kTanh}, w.decay, add_shift(b, w, Rwkv7Mix::kDecay));
  op.rate = add_low_rank(b, {"wkv_rate", c.rate_rank}, w.rate, add_shift(b, w, Rwkv7Mix::kRate));
  const LowRank gate{.name = "wkv_gate", .rank = c.gate_rank, .epilogue = {.activation = Activation::kSigmoid}};
  const ActId gates = add_low_rank(b, gate, w.gate, add_shift(b, w, Rwkv7Mix::kGate, true));
  b.add(op);
  const OpPlace place = b.place(OpRole::kO);
  b.add(NormOp{.out = op.bonus,
               .in = op.out,
               .weight = w.norm,
               .bias = w.norm_bias,
               .kind = NormKind::kLayer,
               .eps = c.norm_eps,
               .accumulate = true,
               .n_groups = c.n_heads,
               .place = place});
  b.add(GateOp{.out = op.bonus, .in = op.bonus, .gate = gates, .is_factor = true, .place = place});
  b.add_to_stream(LinearOp{.out = b.out(), .in = op.bonus, .weight = w.wo, .place = place});
}

}  // namespace realizar
