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
  none.altup_projs.resize(config.n_streams - 1, kNoWeight);
  none.altup_unembeds.resize(config.n_streams - 1, kNoWeight);
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

// Added to the mean square of what is made as large as another row, so that a row of zeros stays one. transformers
// takes 1e-5 for whatever is less, and llama.cpp divides as it is: the rows of trained models are far above either.
constexpr float kLeastPower = 1e-12f;

Streams add_streams(Program& program, const ModelConfig& c) {
  Streams streams = kNoStreams;
  for (uint32_t i = 0; i < c.n_streams; ++i) {
    const std::string name = "stream" + std::to_string(i);
    streams[i] = add_stream(program, c, name.c_str());
  }
  return streams;
}

// The streams that a row has beside its first are products of it, as large as it is.
void fill_streams(Program& program, const ModelConfig& c, const Weights& w, const Streams& streams) {
  const OpPlace place{OpRole::kInput};
  for (uint32_t i = 1; i < c.n_streams; ++i) {
    program.add(LinearOp{.out = streams[i], .in = streams[0], .weight = w.altup_projs[i - 1], .place = place});
  }
  for (uint32_t i = 1; i < c.n_streams; ++i) {
    program.add(NormOp{.out = streams[i], .in = streams[i], .like = streams[0], .eps = kLeastPower, .place = place});
  }
}

// The mean of the first stream and of what products make of the others, which become as large as the first.
void add_mean_of_streams(Program& program, const ModelConfig& c, const Weights& w, const Streams& streams, ActId mean) {
  const ActId first = program.add_activation("first", c.d_model, Rows::kLogits);
  const ActId other = program.add_activation("other", c.d_model, Rows::kLogits);
  const ActId unembedded = program.add_activation("unembedded", c.d_model, Rows::kLogits);
  const OpPlace place{OpRole::kFinal};
  program.add(SelectRowsOp{.out = first, .in = streams[0]});
  program.add(SelectRowsOp{.out = mean, .in = streams[0]});
  for (uint32_t i = 1; i < c.n_streams; ++i) {
    program.add(SelectRowsOp{.out = other, .in = streams[i]});
    program.add(LinearOp{
        .out = unembedded, .in = other, .weight = w.altup_unembeds[i - 1], .rows = Rows::kLogits, .place = place});
    program.add(NormOp{.out = mean,
                       .in = unembedded,
                       .like = first,
                       .eps = kLeastPower,
                       .accumulate = true,
                       .scale = i + 1 == c.n_streams ? 1 / static_cast<float>(c.n_streams) : 1.0f,
                       .rows = Rows::kLogits,
                       .place = place});
  }
}

void add_hidden(Program& program, const ModelConfig& c, const Weights& w, const LayerBuilder::Stream& acts,
                ActId hidden) {
  if (c.n_streams > 1) {
    add_mean_of_streams(program, c, w, acts.streams, hidden);
  } else {
    program.add(SelectRowsOp{.out = hidden, .in = acts.stream});
  }
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
                       .softcap = c.final_softcap,
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
  if (c.n_streams > 1) acts.streams = add_streams(program, c);
  const ActId embedded = c.n_streams > 1 ? acts.streams[0] : acts.stream;
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
  if (c.d_layer_input > 0) acts.layer_inputs = add_layer_inputs(program, c, w, embedded);
  if (c.n_streams > 1) fill_streams(program, c, w, acts.streams);
  for (uint32_t i = 0; i < c.n_layers; ++i) LayerBuilder(program, c, w, acts, i).build();
  forward.hidden = program.add_activation("hidden", c.d_model, Rows::kLogits);
  add_hidden(program, c, w, acts, forward.hidden);
  if (c.n_dense > 0) forward.hidden = add_dense(program, c, w, forward.hidden);
  if (c.n_labels > 0) {
    forward.logits = add_scores(program, c, w, forward.hidden);
  } else {
    forward.logits = c.sees_later ? forward.hidden : add_logits(program, c, w, forward.hidden);
  }
  program.outputs = {forward.hidden};
  if (forward.logits != forward.hidden) program.outputs.push_back(forward.logits);
  return forward;
}

Program outline_forward(const ModelConfig& config) {
  return build_forward(config, unloaded(config)).program;
}

}  // namespace realizar
