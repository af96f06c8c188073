#include "model/streams/layer_table.h"

#include <cmath>
#include <vector>

#include "base/try.h"
#include "model/arch/arch_spec.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {

// All layers have the same norm.
Result<LayerTable> bind_table(const ModelConfig& c, TensorBinder& tensors) {
  LayerTable w;
  if (c.layer_table.d_input == 0) return w;
  RZ_TRY(w.proj, tensors.matrix(Role::kLayerTableProj));
  RZ_TRY(const auto norm, tensors.norm_values(Role::kLayerTableNorm));
  std::vector<float> norms;
  for (uint32_t layer = 0; layer < c.n_layers; ++layer) norms.insert(norms.end(), norm.begin(), norm.end());
  RZ_TRY(w.norm, tensors.upload(norms));
  RZ_TRY(w.table, tensors.matrix(Role::kLayerTable));
  return w;
}

Result<LayerInputWeights> bind(const LayerTableConfig& c, TensorBinder& tensors) {
  LayerInputWeights w;
  if (c.d_input == 0) return w;
  RZ_TRY(w.gate, tensors.matrix(Role::kInputGate));
  RZ_TRY(w.proj, tensors.matrix(Role::kInputProj));
  RZ_TRY(w.norm, tensors.norm(Role::kInputNorm));
  return w;
}

// (embedding + norm(projection)) / sqrt(2)
ActId add_layer_inputs(Program& program, const ModelConfig& c, const LayerTable& w, ActId x) {
  const uint32_t d_input = c.layer_table.d_input;
  const ActId inputs = program.add_activation("layer_inputs", c.n_layers * d_input);
  const ActId projected = program.add_activation("projected", c.n_layers * d_input);
  program.add(EmbedOp{.out = inputs, .table = w.table, .scale = std::sqrt(static_cast<float>(d_input))});
  program.add(LinearOp{.out = projected,
                       .in = x,
                       .weight = w.proj,
                       .epilogue = {.scale = 1 / std::sqrt(static_cast<float>(c.d_model))},
                       .place = {OpRole::kInput}});
  program.add(NormOp{.out = inputs,
                     .in = projected,
                     .weight = w.norm,
                     .kind = c.norm,
                     .eps = c.norm_eps,
                     .accumulate = true,
                     .scale = std::sqrt(0.5f),
                     .n_groups = c.n_layers,
                     .place = {OpRole::kInput}});
  return inputs;
}

void add_layer_input(LayerBuilder& b, float out_scale) {
  const LayerInputWeights& w = b.weights().input;
  const uint32_t width = b.config().layer_table.d_input, n_streams = b.config().altup.n_streams;
  const ActId input = b.scratch("layer_input", width), branch = b.acts().branch;
  const OpPlace place = b.place(OpRole::kInput);
  b.add(LinearOp{
      .out = input, .in = b.stream(), .weight = w.gate, .epilogue = {.activation = Activation::kGelu}, .place = place});
  b.add(GateOp{.out = input,
               .in = input,
               .gate = b.acts().layer_inputs,
               .gate_col = b.layer() * width,
               .is_factor = true,
               .place = place});
  b.add(LinearOp{.out = branch, .in = input, .weight = w.proj, .place = place});
  if (n_streams == 1) return b.add_norm(b.stream(), branch, w.norm, OpRole::kPost, out_scale);
  for (uint32_t i = 1; i < n_streams; ++i) {
    b.add_norm(b.acts().streams[i], branch, w.norm, OpRole::kPost, out_scale);
  }
}

}  // namespace realizar
