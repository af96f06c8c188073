#include "model/ffns/gated.h"

#include "base/try.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {
namespace {

// For biases, or a cut before the activation.
void add_separate_products(LayerBuilder& b, const GatedConfig& c, const GatedWeights& w, ActId ff) {
  const ActId gate = b.scratch("ff_gate", c.d_ff);
  const OpPlace place = b.place(OpRole::kGateUp);
  const bool has_cut = c.n_stds != kNoCut;
  b.add(LinearOp{.out = gate,
                 .in = b.in(),
                 .weight = w.w_gate,
                 .bias = w.b_gate,
                 .epilogue = {.activation = has_cut ? Activation::kNone : c.activation},
                 .place = place});
  b.add(LinearOp{.out = ff, .in = b.in(), .weight = w.w_up, .bias = w.b_up, .place = place});
  if (has_cut) b.add(CutOp{.out = gate, .in = gate, .n_stds = c.n_stds, .activation = c.activation, .place = place});
  b.add(GateOp{.out = ff, .in = ff, .gate = gate, .is_factor = true, .place = place});
}

}  // namespace

uint64_t size_of(const GatedConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kFf:
      return c.d_ff;
    case Dim::kGateUp:
      return uint64_t{2} * c.d_ff;
    default:
      return 0;
  }
}

Result<GatedWeights> bind(const GatedConfig& c, TensorBinder& tensors) {
  GatedWeights w;
  const bool wants_whole_rows = c.n_stds != kNoCut || tensors.is_in_file(Role::kFfnSubNorm);
  const uint32_t unit = wants_whole_rows ? 0 : tensors.shard_unit(Role::kWDown, 1);
  // Jina's GGUF files give the fused matrix the usual name of up.
  const bool may_be_fused = tensors.is_in_file(Role::kWGateUp) || !tensors.is_known(Role::kWGate);
  if (may_be_fused && !tensors.is_in_file(Role::kWGate)) {
    RZ_TRY(const auto parts,
           tensors.split_matrix(Role::kWGateUp, {{.n_rows = c.d_ff, .shard_unit = unit},
                                                 {.first_row = c.d_ff, .n_rows = c.d_ff, .shard_unit = unit}}));
    w.w_gate = parts[0], w.w_up = parts[1];
  } else {
    RZ_TRY(w.w_gate, tensors.matrix(Role::kWGate, {}, unit));
    RZ_TRY(w.w_up, tensors.matrix(Role::kWUp, {}, unit));
  }
  RZ_TRY(w.w_down, tensors.matrix(Role::kWDown, {}, unit));
  RZ_TRY(w.b_gate, tensors.vector(Role::kBGate));
  RZ_TRY(w.b_up, tensors.vector(Role::kBUp));
  RZ_TRY(w.b_down, tensors.vector(Role::kBDown));
  RZ_TRY(w.sub_norm, tensors.norm(Role::kFfnSubNorm));
  return w;
}

void add_to(LayerBuilder& b, const GatedConfig& c, const GatedWeights& w) {
  const ActId ff = b.scratch("ff", c.d_ff);
  if (c.n_stds == kNoCut && w.b_gate == kNoWeight && w.b_up == kNoWeight) {
    b.add(GatedLinearOp{.out = ff,
                        .in = b.in(),
                        .gate = w.w_gate,
                        .up = w.w_up,
                        .activation = c.activation,
                        .place = b.place(OpRole::kGateUp)});
  } else {
    add_separate_products(b, c, w, ff);
  }
  if (w.sub_norm != kNoWeight) b.normalize(ff, w.sub_norm, OpRole::kDown);
  b.add_to_stream(LinearOp{.out = b.out(),
                           .in = ff,
                           .weight = w.w_down,
                           .bias = w.b_down,
                           .epilogue = {.scale = c.out_scale},
                           .place = b.place(OpRole::kDown)});
}

}  // namespace realizar
