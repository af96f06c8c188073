#include "model/layer_builder.h"

#include "base/check.h"

namespace realizar {
namespace {

bool belongs_to_ffn(LayerStep step) {
  return step == LayerStep::kNormFfn || step == LayerStep::kReadApart || step == LayerStep::kFfn;
}

}  // namespace

void LayerBuilder::build() {
  const LayerConfig& c = config_.layers[layer_];
  if (const auto* experts = std::get_if<ExpertsConfig>(&c.ffn)) {
    add_before_mixer(*this, *experts, std::get<ExpertWeights>(weights().ffn));
  }
  if (config_.altup.n_streams > 1) predict_streams(*this);
  in_ = acts_.stream;
  const std::span<const LayerStep> steps = form_of(c.norm_place).steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (std::holds_alternative<NoFfnConfig>(c.ffn) && belongs_to_ffn(steps[i])) return;
    has_post_norm_ =
        i + 1 < steps.size() && (steps[i + 1] == LayerStep::kPostNormMixer || steps[i + 1] == LayerStep::kPostNormFfn);
    add_step(steps[i]);
  }
  if (config_.altup.n_streams > 1) correct_streams(*this);
  if (config_.layer_table.d_input > 0) add_layer_input(*this, c.out_scale);
}

void LayerBuilder::add_step(LayerStep step) {
  const LayerConfig& c = config_.layers[layer_];
  const LayerWeights& w = weights();
  switch (step) {
    case LayerStep::kNormMixer:
      if (!c.has_mixer_norm) return;
      in_ = acts_.normed;
      return norm(in_, w.attn_norm, w.attn_norm_bias, OpRole::kAttn);
    case LayerStep::kReadLast:
      in_ = acts_.normed;
      return;
    case LayerStep::kMixer:
      if (config_.altup.laurel_rank > 0) add_laurel(*this);
      return add_branch(c.mixer, w.mixer);
    case LayerStep::kPostNormMixer:
      return add_norm(acts_.stream, acts_.branch, w.attn_post_norm, OpRole::kPost, laurel_scale(config_.altup));
    case LayerStep::kAdd:
      return;
    case LayerStep::kNormStream:
      // Experts read their input while they add to the stream, so they need a copy.
      in_ = std::holds_alternative<ExpertsConfig>(c.ffn) ? acts_.normed : acts_.stream;
      if (in_ != acts_.stream) norm(in_, w.attn_post_norm, w.attn_post_norm_bias, OpRole::kPost);
      return norm(acts_.stream, w.attn_post_norm, w.attn_post_norm_bias, OpRole::kPost);
    case LayerStep::kNormFfn:
      in_ = acts_.normed;
      return norm(in_, w.ffn_norm, w.ffn_norm_bias, OpRole::kFfn, c.ffn_in_scale);
    case LayerStep::kNormFfnApart:
      return norm(acts_.ffn_normed, w.ffn_norm, w.ffn_norm_bias, OpRole::kFfn);
    case LayerStep::kReadApart:
      in_ = acts_.ffn_normed;
      return;
    case LayerStep::kFfn:
      REQUIRE(c.out_scale == 1.0f || has_post_norm_ || config_.layer_table.d_input > 0);
      return add_branch(c.ffn, w.ffn);
    case LayerStep::kPostNormFfn:
      // With per-layer embeddings, out_scale comes after them.
      return add_norm(acts_.stream, acts_.branch, w.ffn_post_norm, OpRole::kPost,
                      config_.layer_table.d_input > 0 ? 1.0f : c.out_scale);
    case LayerStep::kNormStreamLast:
      return norm(acts_.stream, w.ffn_post_norm, w.ffn_post_norm_bias, OpRole::kPost);
  }
}

template <class Configs, class KindWeights>
void LayerBuilder::add_branch(const Configs& config, const KindWeights& weights) {
  const auto add_kind = [&](const auto& kind) {
    using Own = typename std::decay_t<decltype(kind)>::Weights;
    add_to(*this, kind, std::get<Own>(weights));
  };
  std::visit(add_kind, config);
}

LayerBuilder::Rotation LayerBuilder::rotation(uint32_t rope_idx) const {
  if (rope_idx == kNoRope) return {};
  const RopeConfig& rope = config_.ropes[rope_idx];
  return {weights_.inv_freqs[rope_idx], rope.n_rot, rope.scale};
}

void LayerBuilder::normalize(ActId act, WeightId weight, OpRole role) {
  add(NormOp{
      .out = act, .in = act, .weight = weight, .kind = config_.norm, .eps = config_.norm_eps, .place = place(role)});
}

void LayerBuilder::add_norm(ActId out, ActId in, WeightId weight, OpRole role, float scale) {
  add(NormOp{.out = out,
             .in = in,
             .weight = weight,
             .kind = config_.norm,
             .eps = config_.norm_eps,
             .accumulate = true,
             .scale = scale,
             .place = place(role)});
}

void LayerBuilder::add_to_stream(LinearOp op) {
  op.accumulate = !has_post_norm_;
  if (op.accumulate) op.epilogue.scale *= config_.residual_scale;
  add(op);
}

void LayerBuilder::add_to_stream(const GateOp& op) {
  REQUIRE(!has_post_norm_);
  add(op);
}

void LayerBuilder::norm(ActId out, WeightId weight, WeightId bias, OpRole role, float scale) {
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
