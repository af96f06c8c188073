#include "model/layer_builder.h"

#include <algorithm>

#include "base/check.h"

namespace realizar {

void LayerBuilder::build() {
  const LayerConfig& c = config_.layers[layer_];
  const LayerWeights& w = weights_.layers[layer_];
  const auto add_branch = [this](const auto& kind, const auto& weights) {
    using KindWeights = typename std::decay_t<decltype(kind)>::Weights;
    add_to(*this, kind, std::get<KindWeights>(weights));
  };
  norm(w.attn_norm, w.attn_norm_bias, OpRole::kAttn);
  post_norm_ = w.attn_post_norm;
  std::visit([&](const auto& mixer) { add_branch(mixer, w.mixer); }, c.mixer);
  // In parallel placement the ffn reads what the mixer read.
  if (c.norm_place != NormPlace::kParallel) norm(w.ffn_norm, w.ffn_norm_bias, OpRole::kFfn);
  post_norm_ = w.ffn_post_norm;
  std::visit([&](const auto& ffn) { add_branch(ffn, w.ffn); }, c.ffn);
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

void LayerBuilder::add_to_stream(LinearOp op) {
  op.accumulate = !has_post_norm();
  add(op);
  if (!has_post_norm()) return;
  add(NormOp{.out = acts_.stream,
             .in = acts_.branch,
             .weight = post_norm_,
             .kind = config_.norm,
             .eps = config_.norm_eps,
             .accumulate = true,
             .place = place(OpRole::kPost)});
}

void LayerBuilder::add_to_stream(const ExpertsOp& op) {
  REQUIRE(!has_post_norm());
  add(op);
}

void LayerBuilder::norm(WeightId weight, WeightId bias, OpRole role) {
  add(NormOp{.out = acts_.normed,
             .in = acts_.stream,
             .weight = weight,
             .bias = bias,
             .kind = config_.norm,
             .eps = config_.norm_eps,
             .place = place(role)});
}

}  // namespace realizar
