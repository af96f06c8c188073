#include "model/forward.h"

#include <algorithm>

#include "model/layer_builder.h"

namespace realizar {
namespace {

ActId add_stream(Program& program, const ModelConfig& c, const char* name) {
  return program.add_activation(name, c.d_model);
}

Weights unloaded(const ModelConfig& config) {
  Weights none;
  none.inv_freqs.resize(config.ropes.size(), kNoWeight);
  none.layers.reserve(config.layers.size());
  const auto weights_of = [](const auto& kind) { return typename std::decay_t<decltype(kind)>::Weights{}; };
  for (const LayerConfig& layer : config.layers) {
    LayerWeights& w = none.layers.emplace_back();
    std::visit([&](const auto& mixer) { w.mixer = weights_of(mixer); }, layer.mixer);
    std::visit([&](const auto& ffn) { w.ffn = weights_of(ffn); }, layer.ffn);
  }
  return none;
}

void add_head(Program& program, const ModelConfig& c, const Weights& w, ActId x, ActId hidden, ActId logits) {
  program.add(SelectRowsOp{.out = hidden, .in = x});
  program.add(NormOp{.out = hidden,
                     .in = hidden,
                     .weight = w.final_norm,
                     .bias = w.final_norm_bias,
                     .kind = c.norm,
                     .eps = c.norm_eps,
                     .rows = Rows::kLogits,
                     .place = {OpRole::kFinal}});
  program.add(LinearOp{.out = logits,
                       .in = hidden,
                       .weight = w.head,
                       .bias = w.head_bias,
                       .softcap = c.final_softcap,
                       .rows = Rows::kLogits,
                       .place = {OpRole::kHead}});
  program.add(ChooseOp{.logits = logits});
}

}  // namespace

Forward build_forward(const ModelConfig& c, const Weights& w) {
  Forward forward;
  Program& program = forward.program;
  LayerBuilder::Stream acts;
  acts.stream = add_stream(program, c, "x");
  acts.normed = add_stream(program, c, "normed");
  const auto has_post_norms = [](const LayerConfig& layer) { return layer.norm_place == NormPlace::kSandwich; };
  if (std::ranges::any_of(c.layers, has_post_norms)) acts.branch = add_stream(program, c, "branch");
  program.add(EmbedOp{.out = acts.stream,
                      .table = w.embed,
                      .position_table = c.learned_positions ? w.position_embed : kNoWeight,
                      .scale = c.embed_scale});
  for (uint32_t i = 0; i < c.n_layers; ++i) LayerBuilder(program, c, w, acts, i).build();
  forward.hidden = program.add_activation("hidden", c.d_model, Rows::kLogits);
  forward.logits = program.add_activation("logits", c.n_vocab, Rows::kLogits);
  add_head(program, c, w, acts.stream, forward.hidden, forward.logits);
  return forward;
}

Program outline_forward(const ModelConfig& config) {
  return build_forward(config, unloaded(config)).program;
}

}  // namespace realizar
