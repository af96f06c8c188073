#include "model/forward.h"

#include <algorithm>

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

// Optional weights whose presence changes the operations.
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
  none.altup.projs.resize(config.altup.n_streams - 1, kNoWeight);
  none.altup.unembeds.resize(config.altup.n_streams - 1, kNoWeight);
  none.layers.reserve(config.layers.size());
  for (const LayerConfig& layer : config.layers) {
    LayerWeights& w = none.layers.emplace_back();
    std::visit([&](const auto& mixer) { w.mixer = unloaded(mixer); }, layer.mixer);
    std::visit([&](const auto& ffn) { w.ffn = unloaded(ffn); }, layer.ffn);
  }
  return none;
}

LayerBuilder::Acts add_acts(Program& program, const ModelConfig& c) {
  LayerBuilder::Acts acts;
  acts.stream = add_stream(program, c, "x");
  acts.normed = add_stream(program, c, "normed");
  const auto any_has = [&c](LayerStep step) {
    return std::ranges::any_of(c.layers, [step](const auto& layer) { return form_of(layer.norm_place).has(step); });
  };
  const bool has_branch = any_has(LayerStep::kPostNormMixer) || c.layer_table.d_input > 0;
  if (has_branch) acts.branch = add_stream(program, c, "branch");
  if (any_has(LayerStep::kNormFfnApart)) acts.ffn_normed = add_stream(program, c, "ffn_normed");
  if (c.altup.n_streams > 1) acts.streams = add_streams(program, c);
  return acts;
}

// Embeds tokens, and fills AltUp's streams and per-layer embeddings.
void add_embedding(Program& program, const ModelConfig& c, const Weights& w, LayerBuilder::Acts& acts) {
  const ActId embedded = c.altup.n_streams > 1 ? acts.streams[0] : acts.stream;
  program.add(EmbedOp{.out = embedded,
                      .table = w.embed,
                      .position_table = c.learned_positions ? w.position_embed : kNoWeight,
                      .type_table = w.type_embed,
                      .scale = c.embed_scale});
  if (w.embed_norm != kNoWeight) {
    program.add(NormOp{.out = embedded,
                       .in = embedded,
                       .weight = w.embed_norm,
                       .bias = w.embed_norm_bias,
                       .kind = c.norm,
                       .eps = c.norm_eps,
                       .place = {OpRole::kInput}});
  }
  if (c.layer_table.d_input > 0) acts.layer_inputs = add_layer_inputs(program, c, w.layer_table, embedded);
  if (c.altup.n_streams > 1) fill_streams(program, c.altup, w.altup, acts.streams);
}

ActId add_hidden(Program& program, const ModelConfig& c, const Weights& w, const LayerBuilder::Acts& acts) {
  const ActId hidden = program.add_activation("hidden", c.d_model, Rows::kLogits);
  if (c.altup.n_streams > 1) {
    add_mean_of_streams(program, c, w.altup, acts.streams, hidden);
  } else {
    program.add(SelectRowsOp{.out = hidden, .in = acts.stream});
  }
  if (w.final_norm == kNoWeight && c.is_bidirectional) return hidden;
  program.add(NormOp{.out = hidden,
                     .in = hidden,
                     .weight = w.final_norm,
                     .bias = w.final_norm_bias,
                     .kind = c.norm,
                     .eps = c.norm_eps,
                     .rows = Rows::kLogits,
                     .place = {OpRole::kFinal}});
  return hidden;
}

// Applied to each row before pooling: the product of a mean is the mean of the products.
ActId add_dense(Program& program, const ModelConfig& c, const Weights& w, ActId hidden) {
  const ActId dense = program.add_activation("dense", c.n_dense, Rows::kLogits);
  const ActId vector = program.add_activation("vector", c.d_model, Rows::kLogits);
  const OpPlace place{OpRole::kHead};
  program.add(LinearOp{.out = dense, .in = hidden, .weight = w.dense_up, .rows = Rows::kLogits, .place = place});
  program.add(LinearOp{.out = vector, .in = dense, .weight = w.dense_down, .rows = Rows::kLogits, .place = place});
  return vector;
}

// Scores for every row; pooling selects the text's row. A softcap of 1 is tanh.
ActId add_scores(Program& program, const ModelConfig& c, const Weights& w, ActId hidden) {
  ActId pooled = hidden;
  if (w.pooler != kNoWeight) {
    pooled = program.add_activation("pooled", c.d_model, Rows::kLogits);
    program.add(LinearOp{.out = pooled,
                         .in = hidden,
                         .weight = w.pooler,
                         .bias = w.pooler_bias,
                         .epilogue = {.softcap = 1.0f},
                         .rows = Rows::kLogits,
                         .place = {OpRole::kHead}});
  }
  const ActId scores = program.add_activation("scores", c.n_labels, Rows::kLogits);
  program.add(LinearOp{.out = scores,
                       .in = pooled,
                       .weight = w.score,
                       .bias = w.score_bias,
                       .epilogue = {.softcap = c.final_softcap},
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
                       .epilogue = {.scale = c.logit_scale, .softcap = c.final_softcap},
                       .rows = Rows::kLogits,
                       .place = {OpRole::kHead}});
  program.add(ChooseOp{.logits = logits});
  return logits;
}

}  // namespace

Forward build_forward(const ModelConfig& c, const Weights& w) {
  Forward forward;
  Program& program = forward.program;
  LayerBuilder::Acts acts = add_acts(program, c);
  add_embedding(program, c, w, acts);
  for (uint32_t i = 0; i < c.n_layers; ++i) LayerBuilder(program, c, w, acts, i).build();
  forward.hidden = add_hidden(program, c, w, acts);
  if (c.n_dense > 0) forward.hidden = add_dense(program, c, w, forward.hidden);
  if (c.n_labels > 0) {
    forward.logits = add_scores(program, c, w, forward.hidden);
  } else {
    forward.logits = c.is_bidirectional ? forward.hidden : add_logits(program, c, w, forward.hidden);
  }
  program.outputs = {forward.hidden};
  if (forward.logits != forward.hidden) program.outputs.push_back(forward.logits);
  return forward;
}

Program outline_forward(const ModelConfig& config) {
  return build_forward(config, unloaded(config)).program;
}

}  // namespace realizar
