#include "model/mixers/delta_net.h"

#include <cmath>
#include <vector>

#include "base/try.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {
namespace {

enum DeltaPart : uint32_t { kConvQk, kConvV, kDeltaState };

// The file has one matrix of queries, keys and values and one of gates; or a fused one with the query, the key, the
// values and their gates of each key head.
Status bind_input(const DeltaNetConfig& c, TensorBinder& tensors, DeltaNetWeights& w) {
  if (!tensors.is_in_file(Role::kDeltaIn)) {
    RZ_TRY(const auto parts,
           tensors.split_matrix(Role::kDeltaQkv,
                                {{.n_rows = 2 * c.n_keys()}, {.first_row = 2 * c.n_keys(), .n_rows = c.n_values()}}));
    w.w_qk = parts[0], w.w_v = parts[1];
    RZ_TRY(w.w_gate, tensors.matrix(Role::kDeltaGate));
    return {};
  }
  const uint32_t own_values = c.n_values() / c.n_key_heads, stride = 2 * (c.key_dim + own_values);
  // The gathered rows are in the file's order: a query and a key per head.
  std::vector<uint32_t> order(2 * c.n_keys());
  for (uint32_t row = 0; row < order.size(); ++row) {
    const uint32_t is_key = row / c.n_keys(), head = row % c.n_keys() / c.key_dim;
    order[row] = (2 * head + is_key) * c.key_dim + row % c.key_dim;
  }
  const auto values = [&](uint32_t first_row) {
    return TensorBinder::Part{.first_row = first_row, .n_rows = c.n_values(), .n_run = own_values, .stride = stride};
  };
  RZ_TRY(const auto parts,
         tensors.split_matrix(
             Role::kDeltaIn,
             {{.n_rows = 2 * c.n_keys(), .row_order = std::move(order), .n_run = 2 * c.key_dim, .stride = stride},
              values(2 * c.key_dim),
              values(2 * c.key_dim + own_values)}));
  w.w_qk = parts[0], w.w_v = parts[1], w.w_gate = parts[2];
  return {};
}

// Matrices of beta and decay: separate, or fused with the betas and then the decays of each key head.
Status bind_beta_and_decay(const DeltaNetConfig& c, TensorBinder& tensors, DeltaNetWeights& w) {
  if (!tensors.is_known(Role::kDeltaBetaDecay)) {
    RZ_TRY(w.w_beta, tensors.matrix(Role::kDeltaBeta));
    RZ_TRY(w.w_decay, tensors.matrix(Role::kDeltaDecay));
    return {};
  }
  const uint32_t n_run = c.n_heads / c.n_key_heads;
  RZ_TRY(const auto parts,
         tensors.split_matrix(Role::kDeltaBetaDecay,
                              {{.n_rows = c.n_heads, .n_run = n_run, .stride = 2 * n_run},
                               {.first_row = n_run, .n_rows = c.n_heads, .n_run = n_run, .stride = 2 * n_run}}));
  w.w_beta = parts[0], w.w_decay = parts[1];
  return {};
}

Status bind_convolutions(const DeltaNetConfig& c, TensorBinder& tensors, DeltaNetWeights& w) {
  RZ_TRY(const auto taps, tensors.values(Role::kSsmConv));
  const auto values = taps.begin() + 2 * std::ptrdiff_t{c.n_keys()} * c.n_taps;
  RZ_TRY(w.conv_qk, tensors.upload({taps.begin(), values}));
  RZ_TRY(w.conv_v, tensors.upload({values, taps.end()}));
  return {};
}

// Normalizes queries and keys to length 1, and divides q.k by sqrt(key_dim).
Result<WeightId> upload_qk_scale(const DeltaNetConfig& c, TensorBinder& tensors) {
  const float length = 1 / std::sqrt(static_cast<float>(c.key_dim));
  std::vector<float> scale(2 * c.n_keys(), length);
  std::fill_n(scale.begin(), c.n_keys(), length * length);
  return tensors.upload(scale);
}

// Inputs of the delta rule; queries and keys have unit length.
struct DeltaInputs {
  ActId qk, v, decay, beta;
};

DeltaInputs add_inputs(LayerBuilder& b, const DeltaNetConfig& c, const DeltaNetWeights& w) {
  const ActId qk_in = b.scratch("delta_qk_in", 2 * c.n_keys()), v_in = b.scratch("delta_v_in", c.n_values());
  const DeltaInputs to{b.scratch("delta_qk", 2 * c.n_keys()), b.scratch("delta_v", c.n_values()),
                       b.scratch("delta_decay", c.n_heads), b.scratch("delta_beta", c.n_heads)};
  const OpPlace place = b.place(OpRole::kQkv);
  b.add(LinearOp{.out = qk_in, .in = b.in(), .weight = w.w_qk, .place = place});
  b.add(LinearOp{.out = v_in, .in = b.in(), .weight = w.w_v, .place = place});
  b.add(LinearOp{.out = to.decay, .in = b.in(), .weight = w.w_decay, .place = place});
  b.add(LinearOp{.out = to.beta, .in = b.in(), .weight = w.w_beta, .place = place});
  const auto convolve = [&](ActId out, ActId in, uint32_t part, WeightId weight) {
    b.add(ShortConvOp{.out = out,
                      .in = in,
                      .layer = b.layer(),
                      .part = part,
                      .n_taps = c.n_taps,
                      .weight = weight,
                      .activation = Activation::kSilu});
  };
  convolve(to.qk, qk_in, kConvQk, w.conv_qk);
  convolve(to.v, v_in, kConvV, w.conv_v);
  b.add(NormOp{.out = to.qk,
               .in = to.qk,
               .weight = w.qk_scale,
               .eps = b.norm_eps() / static_cast<float>(c.key_dim),
               .n_groups = 2 * c.n_key_heads,
               .place = place});
  return to;
}

}  // namespace

StateLayout state_layout(const DeltaNetConfig& c, uint32_t) {
  const size_t n_before = c.n_taps - 1;
  return Recurrent{{n_before * 2 * c.n_keys() * sizeof(float), n_before * c.n_values() * sizeof(float),
                    size_t{c.key_dim} * c.n_values() * sizeof(float)}};
}

uint64_t size_of(const DeltaNetConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kSsmIn:
      return uint64_t{2} * (c.n_keys() + c.n_values());
    case Dim::kSsmConv:
      return uint64_t{2} * c.n_keys() + c.n_values();
    case Dim::kSsmInner:
      return c.n_values();
    case Dim::kSsmHeads:
      return c.n_heads;
    case Dim::kTwoSsmHeads:
      return uint64_t{2} * c.n_heads;
    case Dim::kSsmGroup:
      return c.value_dim;
    case Dim::kTaps:
      return c.n_taps;
    default:
      return 0;
  }
}

Result<DeltaNetWeights> bind(const DeltaNetConfig& c, TensorBinder& tensors) {
  DeltaNetWeights w;
  RZ_CHECK_OK(bind_input(c, tensors, w));
  RZ_CHECK_OK(bind_beta_and_decay(c, tensors, w));
  RZ_CHECK_OK(bind_convolutions(c, tensors, w));
  RZ_TRY(w.qk_scale, upload_qk_scale(c, tensors));
  RZ_TRY(w.a, tensors.decay());
  RZ_TRY(w.dt_bias, tensors.vector(Role::kSsmDtBias));
  RZ_TRY(w.norm, tensors.repeated_vector(Role::kSsmNorm, c.n_heads));
  RZ_TRY(w.w_out, tensors.matrix(Role::kSsmOut));
  return w;
}

void add_to(LayerBuilder& b, const DeltaNetConfig& c, const DeltaNetWeights& w) {
  const DeltaInputs in = add_inputs(b, c, w);
  const ActId gate = b.scratch("delta_gate", c.n_values()), out = b.scratch("delta_out", c.n_values());
  b.add(LinearOp{.out = gate,
                 .in = b.in(),
                 .weight = w.w_gate,
                 .epilogue = {.activation = Activation::kSilu},
                 .place = b.place(OpRole::kQkv)});
  b.add(DeltaRuleOp{.out = out,
                    .q = in.qk,
                    .k = in.qk,
                    .v = in.v,
                    .decay = in.decay,
                    .beta = in.beta,
                    .k_col = c.n_keys(),
                    .layer = b.layer(),
                    .part = kDeltaState,
                    .n_heads = c.n_heads,
                    .n_key_heads = c.n_key_heads,
                    .key_dim = c.key_dim,
                    .value_dim = c.value_dim,
                    .key_heads_in_turn = c.key_heads_in_turn,
                    .a = w.a,
                    .decay_bias = w.dt_bias});
  const OpPlace place = b.place(OpRole::kO);
  b.add(NormOp{.out = out, .in = out, .weight = w.norm, .eps = b.norm_eps(), .n_groups = c.n_heads, .place = place});
  b.add(GateOp{.out = out, .in = out, .gate = gate, .is_factor = true, .place = place});
  b.add_to_stream(LinearOp{.out = b.out(), .in = out, .weight = w.w_out, .place = place});
}

}  // namespace realizar
