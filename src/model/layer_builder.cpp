#include "model/layer_builder.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace realizar {

void LayerBuilder::build() {
  const LayerConfig& c = config_.layers[layer_];
  const LayerWeights& w = weights_.layers[layer_];
  using enum NormPlace;
  const auto add_branch = [this](const auto& kind, const auto& weights) {
    using KindWeights = typename std::decay_t<decltype(kind)>::Weights;
    add_to(*this, kind, std::get<KindWeights>(weights));
  };
  // What the mixer adds to the stream is not seen by an ffn in parallel: its norm is taken before, or it reads what the
  // mixer read.
  if (const auto* experts = std::get_if<ExpertsConfig>(&c.ffn)) {
    add_before_mixer(*this, *experts, std::get<ExpertWeights>(w.ffn));
  }
  if (config_.n_streams > 1) predict_streams(w);
  if (c.norm_place == kParallelApart) norm(acts_.ffn_normed, w.ffn_norm, w.ffn_norm_bias, OpRole::kFfn);
  in_ = c.norm_place == kBesideLast ? acts_.normed : acts_.stream;
  const bool may_be_normed = c.norm_place != kPost && c.norm_place != kOfStream && c.norm_place != kBesideLast;
  const bool has_pre_norm = may_be_normed && c.has_mixer_norm;
  if (has_pre_norm) norm(acts_.normed, w.attn_norm, w.attn_norm_bias, OpRole::kAttn);
  if (config_.laurel_rank > 0) add_laurel(w);
  post_norm_ = w.attn_post_norm, post_norm_bias_ = w.attn_post_norm_bias;
  std::visit([&](const auto& mixer) { add_branch(mixer, w.mixer); }, c.mixer);
  // Experts add to the stream while they read: they read a row of their own.
  const bool reads_apart = std::holds_alternative<ExpertsConfig>(c.ffn);
  if (c.norm_place == kOfStream && reads_apart) add_norm_of_stream(acts_.normed);
  if (c.norm_place == kOfStream) add_norm_of_stream(acts_.stream);
  if (std::holds_alternative<NoFfnConfig>(c.ffn)) return;
  if (c.norm_place == kParallelApart) in_ = acts_.ffn_normed;
  if (c.norm_place == kPre || c.norm_place == kSandwich || c.norm_place == kBesideLast) {
    norm(acts_.normed, w.ffn_norm, w.ffn_norm_bias, OpRole::kFfn, c.ffn_in_scale);
  }
  if (c.norm_place == kOfStream) in_ = reads_apart ? acts_.normed : acts_.stream;
  post_norm_ = w.ffn_post_norm, post_norm_bias_ = w.ffn_post_norm_bias;
  const bool has_input = acts_.layer_inputs != kNoAct;
  REQUIRE(c.out_scale == 1.0f || has_input || has_post_norm());
  post_scale_ = has_input ? 1.0f : c.out_scale;
  std::visit([&](const auto& ffn) { add_branch(ffn, w.ffn); }, c.ffn);
  if (config_.n_streams > 1) correct_streams(w);
  if (c.norm_place == kOfStream) add_norm_of_stream(acts_.stream);
  if (has_input) add_layer_input(w, c.out_scale);
}

// Menghani et al. 2024. The mixer's branch, which comes next, brings the sum to its size.
void LayerBuilder::add_laurel(const LayerWeights& w) {
  REQUIRE(has_post_norm() && in_ == acts_.normed);
  const ActId low = scratch("laurel", config_.laurel_rank);
  const auto add_norm = [&](ActId in, WeightId weight) {
    add(NormOp{.out = acts_.stream,
               .in = in,
               .weight = weight,
               .kind = config_.norm,
               .eps = config_.norm_eps,
               .accumulate = true,
               .place = place()});
  };
  add_norm(acts_.stream, w.attn_norm);
  add(LinearOp{.out = low, .in = in_, .weight = w.laurel_left, .place = place()});
  add(LinearOp{.out = acts_.branch, .in = low, .weight = w.laurel_right, .place = place()});
  add_norm(acts_.branch, w.laurel_norm);
  post_scale_ = std::sqrt(0.5f);
}

// transformers, Gemma3nTextAltUp: the router reads a norm of the state divided by the model's width.
ActId LayerBuilder::route_streams(const LayerWeights& w, ActId in) {
  const ActId router = scratch("altup_router", config_.n_streams);
  add(NormOp{.out = acts_.normed,
             .in = in,
             .weight = w.altup_router_norm,
             .kind = config_.norm,
             .eps = config_.norm_eps,
             .place = place(OpRole::kRouter)});
  add(LinearOp{.out = router,
               .in = acts_.normed,
               .weight = w.altup_router,
               .scale = 1 / static_cast<float>(config_.d_model),
               .softcap = 1.0f,  // tanh
               .place = place(OpRole::kRouter)});
  return router;
}

void LayerBuilder::predict_streams(const LayerWeights& w) {
  add(AltUpOp{.x = acts_.stream,
              .streams = acts_.streams,
              .n_streams = config_.n_streams,
              .router = route_streams(w, acts_.streams[0]),
              .coefs = w.altup_predict,
              .place = place()});
}

void LayerBuilder::correct_streams(const LayerWeights& w) {
  add(AltUpOp{.x = acts_.stream,
              .streams = acts_.streams,
              .n_streams = config_.n_streams,
              .router = route_streams(w, acts_.stream),
              .coefs = w.altup_correct,
              .scale = w.altup_scale,
              .corrects = true,
              .place = place()});
}

void LayerBuilder::add_layer_input(const LayerWeights& w, float out_scale) {
  const uint32_t width = config_.d_layer_input;
  const ActId input = scratch("layer_input", width);
  add(LinearOp{.out = input,
               .in = acts_.stream,
               .weight = w.input_gate,
               .activation = Activation::kGelu,
               .place = place(OpRole::kInput)});
  add(GateOp{.out = input,
             .in = input,
             .gate = acts_.layer_inputs,
             .gate_col = layer_ * width,
             .is_factor = true,
             .place = place(OpRole::kInput)});
  add(LinearOp{.out = acts_.branch, .in = input, .weight = w.input_proj, .place = place(OpRole::kInput)});
  post_norm_ = w.input_norm;
  post_scale_ = out_scale;
  if (config_.n_streams == 1) return add_post_norm();
  for (uint32_t i = 1; i < config_.n_streams; ++i) add_post_norm(acts_.streams[i]);
}

LayerBuilder::Rotation LayerBuilder::rotation(uint32_t rope_idx) const {
  if (rope_idx == kNoRope) return {};
  const RopeConfig& rope = config_.ropes[rope_idx];
  return {weights_.inv_freqs[rope_idx], rope.n_rot, rope.scale};
}

ActId LayerBuilder::scratch(const std::string& name, uint32_t n_cols) {
  const auto& acts = program_.activations;
  const auto same = [&](const ActShape& act) { return act.name == name && act.n_cols == n_cols; };
  const auto found = std::ranges::find_if(acts, same);
  if (found != acts.end()) return ActId{static_cast<uint32_t>(found - acts.begin())};
  return program_.add_activation(name, n_cols);
}

void LayerBuilder::normalize(ActId act, WeightId weight, OpRole role) {
  add(NormOp{
      .out = act, .in = act, .weight = weight, .kind = config_.norm, .eps = config_.norm_eps, .place = place(role)});
}

void LayerBuilder::add_to_stream(LinearOp op) {
  op.accumulate = !has_post_norm();
  if (op.accumulate) op.scale *= config_.residual_scale;
  add(op);
  if (has_post_norm()) add_post_norm();
}

void LayerBuilder::add_norm_of_stream(ActId out) {
  add(NormOp{.out = out,
             .in = acts_.stream,
             .weight = post_norm_,
             .bias = post_norm_bias_,
             .kind = config_.norm,
             .eps = config_.norm_eps,
             .place = place(OpRole::kPost)});
}

void LayerBuilder::add_post_norm() {
  add_post_norm(acts_.stream);
}

void LayerBuilder::add_post_norm(ActId out) {
  add(NormOp{.out = out,
             .in = acts_.branch,
             .weight = post_norm_,
             .kind = config_.norm,
             .eps = config_.norm_eps,
             .accumulate = true,
             .scale = post_scale_,
             .place = place(OpRole::kPost)});
}

void LayerBuilder::add_to_stream(const GateOp& op) {
  REQUIRE(!has_post_norm());
  add(op);
}

void LayerBuilder::norm(ActId out, WeightId weight, WeightId bias, OpRole role, float scale) {
  in_ = out;
  add(NormOp{.out = out,
             .in = acts_.stream,
             .weight = weight,
             .bias = bias,
             .kind = config_.norm,
             .eps = config_.norm_eps,
             .scale = scale,
             .place = place(role)});
}

}  // namespace realizar
