#include "model/forward.h"

#include <algorithm>

namespace realizar {
namespace {

class ForwardBuilder {
 public:
  ForwardBuilder(const ModelConfig& config, const Weights& weights) : c_(config), w_(weights) {}

  Forward build();

 private:
  void create_activations();
  void layer(uint32_t i);
  void attention(uint32_t i);
  void ffn(uint32_t i);
  void experts(uint32_t i);
  void head();
  void norm(ActId out, ActId in, WeightId weight, WeightId bias, OpPlace place);
  void add_branch(ActId in, WeightId weight, WeightId bias, WeightId post_norm, OpPlace place);
  static OpPlace place(OpRole role, uint32_t layer) { return {role, static_cast<int32_t>(layer)}; }

  const ModelConfig& c_;
  const Weights& w_;
  Program program_;
  ActId x_ = kNoAct;               // [n_rows, d_model], the residual stream
  ActId normed_ = kNoAct;          // [n_rows, d_model]
  ActId branch_ = kNoAct;          // [n_rows, d_model], a branch before its own norm
  ActId q_ = kNoAct;               // [n_rows, n_heads * head_dim]
  ActId k_ = kNoAct;               // [n_rows, n_kv_heads * head_dim]
  ActId v_ = kNoAct;               // as k_
  ActId attended_ = kNoAct;        // as q_
  ActId ff_ = kNoAct;              // [n_rows, d_ff]
  ActId router_logits_ = kNoAct;   // [n_rows, n_experts]
  ActId expert_weights_ = kNoAct;  // [n_rows, n_used]
  ActId expert_ids_ = kNoAct;      // [n_rows, n_used]
  ActId hidden_ = kNoAct;          // [n_logit_rows, d_model]
  ActId logits_ = kNoAct;          // [n_logit_rows, n_vocab]
};

Forward ForwardBuilder::build() {
  create_activations();
  program_.add(EmbedOp{.out = x_,
                       .table = w_.embed,
                       .position_table = c_.learned_positions ? w_.position_embed : kNoWeight,
                       .scale = c_.embed_scale});
  for (uint32_t i = 0; i < c_.n_layers; ++i) layer(i);
  head();
  program_.add(ChooseOp{.logits = logits_});
  return {std::move(program_), hidden_, logits_};
}

void ForwardBuilder::create_activations() {
  const uint32_t n_q = c_.n_heads * c_.head_dim, n_kv = c_.n_kv_heads * c_.head_dim;
  const auto has_ffn = [&](bool experts) {
    return std::ranges::any_of(c_.layers,
                               [&](const LayerConfig& l) { return (l.ffn == FfnKind::kExperts) == experts; });
  };
  x_ = program_.add_activation("x", c_.d_model);
  normed_ = program_.add_activation("normed", c_.d_model);
  if (c_.norm_place == NormPlace::kSandwich) branch_ = program_.add_activation("branch", c_.d_model);
  q_ = program_.add_activation("q", n_q);
  k_ = program_.add_activation("k", n_kv);
  v_ = program_.add_activation("v", n_kv);
  attended_ = program_.add_activation("attended", n_q);
  if (has_ffn(false)) ff_ = program_.add_activation("ff", c_.d_ff);
  if (has_ffn(true)) {
    router_logits_ = program_.add_activation("router_logits", c_.moe.n_experts);
    expert_weights_ = program_.add_activation("expert_weights", c_.moe.n_used);
    expert_ids_ = program_.add_activation("expert_ids", c_.moe.n_used);
  }
  hidden_ = program_.add_activation("hidden", c_.d_model, Rows::kLogits);
  logits_ = program_.add_activation("logits", c_.n_vocab, Rows::kLogits);
}

void ForwardBuilder::layer(uint32_t i) {
  const LayerWeights& w = w_.layers[i];
  norm(normed_, x_, w.attn_norm, w.attn_norm_bias, place(OpRole::kAttn, i));
  attention(i);
  // In parallel placement the ffn reads what attention read.
  if (c_.norm_place != NormPlace::kParallel) {
    norm(normed_, x_, w.ffn_norm, w.ffn_norm_bias, place(OpRole::kFfn, i));
  }
  ffn(i);
}

void ForwardBuilder::attention(uint32_t i) {
  const LayerConfig& layer = c_.layers[i];
  const LayerWeights& w = w_.layers[i];
  const OpPlace qkv = place(OpRole::kQkv, i);
  program_.add(LinearOp{.out = q_, .in = normed_, .weight = w.wq, .bias = w.bq, .place = qkv});
  program_.add(LinearOp{.out = k_, .in = normed_, .weight = w.wk, .bias = w.bk, .place = qkv});
  program_.add(LinearOp{.out = v_, .in = normed_, .weight = w.wv, .bias = w.bv, .place = qkv});
  program_.add(RopeStoreOp{.q = q_,
                           .k = k_,
                           .v = v_,
                           .layer = i,
                           .n_heads = c_.n_heads,
                           .n_kv_heads = c_.n_kv_heads,
                           .head_dim = c_.head_dim,
                           .inv_freq = layer.rope ? w_.inv_freq : kNoWeight,
                           .n_rot = c_.rope.n_rot,
                           .rope_scale = c_.rope.scale,
                           .q_norm = c_.qk_norm ? w.q_norm : kNoWeight,
                           .k_norm = c_.qk_norm ? w.k_norm : kNoWeight,
                           .norm_eps = c_.norm_eps});
  program_.add(AttentionOp{.out = attended_,
                           .q = q_,
                           .layer = i,
                           .n_heads = c_.n_heads,
                           .n_kv_heads = c_.n_kv_heads,
                           .head_dim = c_.head_dim,
                           .scale = c_.attn_scale,
                           .softcap = c_.attn_softcap,
                           .window = layer.window});
  add_branch(attended_, w.wo, w.bo, w.attn_post_norm, place(OpRole::kO, i));
}

void ForwardBuilder::ffn(uint32_t i) {
  const LayerWeights& w = w_.layers[i];
  switch (c_.layers[i].ffn) {
    case FfnKind::kGated:
      program_.add(GatedLinearOp{.out = ff_,
                                 .in = normed_,
                                 .gate = w.w_gate,
                                 .up = w.w_up,
                                 .activation = c_.activation,
                                 .place = place(OpRole::kGateUp, i)});
      return add_branch(ff_, w.w_down, w.b_down, w.ffn_post_norm, place(OpRole::kDown, i));
    case FfnKind::kPlain:
      program_.add(LinearOp{.out = ff_,
                            .in = normed_,
                            .weight = w.w_up,
                            .bias = w.b_up,
                            .activation = c_.activation,
                            .place = place(OpRole::kUp, i)});
      return add_branch(ff_, w.w_down, w.b_down, w.ffn_post_norm, place(OpRole::kDown, i));
    case FfnKind::kExperts:
      return experts(i);
  }
}

void ForwardBuilder::experts(uint32_t i) {
  const LayerWeights& w = w_.layers[i];
  program_.add(LinearOp{.out = router_logits_, .in = normed_, .weight = w.router, .place = place(OpRole::kRouter, i)});
  program_.add(RouteOp{.logits = router_logits_,
                       .weights = expert_weights_,
                       .ids = expert_ids_,
                       .n_experts = c_.moe.n_experts,
                       .n_used = c_.moe.n_used,
                       .renormalize = c_.moe.renormalize,
                       .scale = c_.moe.scale,
                       .place = place(OpRole::kNone, i)});
  program_.add(ExpertsOp{.out = x_,
                         .in = normed_,
                         .weights = expert_weights_,
                         .ids = expert_ids_,
                         .gate = w.w_gate,
                         .up = w.w_up,
                         .down = w.w_down,
                         .n_used = c_.moe.n_used,
                         .d_ff = c_.moe.d_ff,
                         .activation = c_.activation,
                         .place = place(OpRole::kNone, i)});
}

// x += w . in + bias, normalized first where the model has a norm after the branch.
void ForwardBuilder::add_branch(ActId in, WeightId weight, WeightId bias, WeightId post_norm, OpPlace place) {
  if (c_.norm_place != NormPlace::kSandwich) {
    program_.add(LinearOp{.out = x_, .in = in, .weight = weight, .bias = bias, .accumulate = true, .place = place});
    return;
  }
  program_.add(LinearOp{.out = branch_, .in = in, .weight = weight, .bias = bias, .place = place});
  program_.add(NormOp{.out = x_,
                      .in = branch_,
                      .weight = post_norm,
                      .kind = c_.norm,
                      .eps = c_.norm_eps,
                      .accumulate = true,
                      .place = {OpRole::kPost, place.layer}});
}

void ForwardBuilder::head() {
  program_.add(SelectRowsOp{.out = hidden_, .in = x_});
  program_.add(NormOp{.out = hidden_,
                      .in = hidden_,
                      .weight = w_.final_norm,
                      .bias = w_.final_norm_bias,
                      .kind = c_.norm,
                      .eps = c_.norm_eps,
                      .rows = Rows::kLogits,
                      .place = {OpRole::kFinal}});
  program_.add(LinearOp{.out = logits_,
                        .in = hidden_,
                        .weight = w_.head,
                        .bias = w_.head_bias,
                        .softcap = c_.final_softcap,
                        .rows = Rows::kLogits,
                        .place = {OpRole::kHead}});
}

void ForwardBuilder::norm(ActId out, ActId in, WeightId weight, WeightId bias, OpPlace place) {
  program_.add(NormOp{
      .out = out, .in = in, .weight = weight, .bias = bias, .kind = c_.norm, .eps = c_.norm_eps, .place = place});
}

}  // namespace

Forward build_forward(const ModelConfig& config, const Weights& weights) {
  return ForwardBuilder(config, weights).build();
}

Program outline_forward(const ModelConfig& config) {
  Weights none;
  none.layers.resize(config.n_layers);
  return build_forward(config, none).program;
}

}  // namespace realizar
