#include "model/forward.h"

#include <algorithm>
#include <cmath>

#include "model/layer_builder.h"

namespace realizar {
namespace {

ActId add_stream(Program& program, const ModelConfig& c, const char* name) {
  return program.add_activation(name, c.d_model);
}

template <class Kind>
typename Kind::Weights unloaded(const Kind&) {
  return {};
}

// What a backend asks for by these weights being there.
AttentionWeights unloaded(const AttentionConfig& config) {
  return {.sinks = config.has_sinks ? WeightId{0} : kNoWeight};
}

ExpertWeights unloaded(const ExpertsConfig& config) {
  const WeightId bias = config.has_biases ? WeightId{0} : kNoWeight;
  return {.b_gate = bias, .b_up = bias, .b_down = bias};
}

Weights unloaded(const ModelConfig& config) {
  Weights none;
  none.inv_freqs.resize(config.ropes.size(), kNoWeight);
  none.layers.reserve(config.layers.size());
  for (const LayerConfig& layer : config.layers) {
    LayerWeights& w = none.layers.emplace_back();
    std::visit([&](const auto& mixer) { w.mixer = unloaded(mixer); }, layer.mixer);
    std::visit([&](const auto& ffn) { w.ffn = unloaded(ffn); }, layer.ffn);
  }
  return none;
}

// The mean of what tables of the layers' own have of a token and of what is made of its embedding, but for a factor of
// the root of 2.
ActId add_layer_inputs(Program& program, const ModelConfig& c, const Weights& w, ActId x) {
  const uint32_t n_cols = c.n_layers * c.d_layer_input;
  const ActId inputs = program.add_activation("layer_inputs", n_cols);
  const ActId projected = program.add_activation("projected", n_cols);
  program.add(EmbedOp{.out = inputs, .table = w.layer_table, .scale = std::sqrt(static_cast<float>(c.d_layer_input))});
  program.add(LinearOp{.out = projected,
                       .in = x,
                       .weight = w.layer_table_proj,
                       .scale = 1 / std::sqrt(static_cast<float>(c.d_model)),
                       .place = {OpRole::kInput}});
  program.add(NormOp{.out = inputs,
                     .in = projected,
                     .weight = w.layer_table_norm,
                     .kind = c.norm,
                     .eps = c.norm_eps,
                     .accumulate = true,
                     .scale = std::sqrt(0.5f),
                     .n_groups = c.n_layers,
                     .place = {OpRole::kInput}});
  return inputs;
}

void add_hidden(Program& program, const ModelConfig& c, const Weights& w, ActId x, ActId hidden) {
  program.add(SelectRowsOp{.out = hidden, .in = x});
  if (w.final_norm == kNoWeight && c.sees_later) return;
  program.add(NormOp{.out = hidden,
                     .in = hidden,
                     .weight = w.final_norm,
                     .bias = w.final_norm_bias,
                     .kind = c.norm,
                     .eps = c.norm_eps,
                     .rows = Rows::kLogits,
                     .place = {OpRole::kFinal}});
}

// Products of a mean are the mean of products, so that each row may have them before it is pooled.
ActId add_dense(Program& program, const ModelConfig& c, const Weights& w, ActId hidden) {
  const ActId dense = program.add_activation("dense", c.n_dense, Rows::kLogits);
  const ActId vector = program.add_activation("vector", c.d_model, Rows::kLogits);
  const OpPlace place{OpRole::kHead};
  program.add(LinearOp{.out = dense, .in = hidden, .weight = w.dense_up, .rows = Rows::kLogits, .place = place});
  program.add(LinearOp{.out = vector, .in = dense, .weight = w.dense_down, .rows = Rows::kLogits, .place = place});
  return vector;
}

// Each row as if it were the one that stands for its text. A softcap of 1 is tanh.
ActId add_scores(Program& program, const ModelConfig& c, const Weights& w, ActId hidden) {
  ActId pooled = hidden;
  if (w.pooler != kNoWeight) {
    pooled = program.add_activation("pooled", c.d_model, Rows::kLogits);
    program.add(LinearOp{.out = pooled,
                         .in = hidden,
                         .weight = w.pooler,
                         .bias = w.pooler_bias,
                         .softcap = 1.0f,
                         .rows = Rows::kLogits,
                         .place = {OpRole::kHead}});
  }
  const ActId scores = program.add_activation("scores", c.n_labels, Rows::kLogits);
  program.add(LinearOp{.out = scores,
                       .in = pooled,
                       .weight = w.score,
                       .bias = w.score_bias,
                       .rows = Rows::kLogits,
                       .place = {OpRole::kHead}});
  return scores;
}

ActId add_logits(Program& program, const ModelConfig& c, const Weights& w, ActId hidden) {
  const ActId logits = program.add_activation("logits", c.n_vocab, Rows::kLogits);
  program.add(LinearOp{.out = logits,
                       .in = hidden,
                       .weight = w.head,
                       .bias = w.head_bias,
                       .scale = c.logit_scale,
                       .softcap = c.final_softcap,
                       .rows = Rows::kLogits,
                       .place = {OpRole::kHead}});
  program.add(ChooseOp{.logits = logits});
  return logits;
}

}  // namespace

Forward build_forward(const ModelConfig& c, const Weights& w) {
  Forward forward;
  Program& program = forward.program;
  LayerBuilder::Stream acts;
  acts.stream = add_stream(program, c, "x");
  acts.normed = add_stream(program, c, "normed");
  const auto has_post_norms = [](const LayerConfig& layer) { return has_post_norm(layer.norm_place); };
  const bool has_branch = std::ranges::any_of(c.layers, has_post_norms) || c.d_layer_input > 0;
  if (has_branch) acts.branch = add_stream(program, c, "branch");
  const auto has_both_first = [](const LayerConfig& layer) { return layer.norm_place == NormPlace::kParallelApart; };
  if (std::ranges::any_of(c.layers, has_both_first)) acts.ffn_normed = add_stream(program, c, "ffn_normed");
  program.add(EmbedOp{.out = acts.stream,
                      .table = w.embed,
                      .position_table = c.learned_positions ? w.position_embed : kNoWeight,
                      .type_table = w.type_embed,
                      .scale = c.embed_scale});
  if (w.embed_norm != kNoWeight) {
    program.add(NormOp{.out = acts.stream,
                       .in = acts.stream,
                       .weight = w.embed_norm,
                       .bias = w.embed_norm_bias,
                       .kind = c.norm,
                       .eps = c.norm_eps,
                       .place = {OpRole::kInput}});
  }
  if (c.d_layer_input > 0) acts.layer_inputs = add_layer_inputs(program, c, w, acts.stream);
  for (uint32_t i = 0; i < c.n_layers; ++i) LayerBuilder(program, c, w, acts, i).build();
  forward.hidden = program.add_activation("hidden", c.d_model, Rows::kLogits);
  add_hidden(program, c, w, acts.stream, forward.hidden);
  if (c.n_dense > 0) forward.hidden = add_dense(program, c, w, forward.hidden);
  if (c.n_labels > 0) {
    forward.logits = add_scores(program, c, w, forward.hidden);
  } else {
    forward.logits = c.sees_later ? forward.hidden : add_logits(program, c, w, forward.hidden);
  }
  return forward;
}

Program outline_forward(const ModelConfig& config) {
  return build_forward(config, unloaded(config)).program;
}

}  // namespace realizar
