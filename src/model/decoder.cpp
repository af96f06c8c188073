#include "model/decoder.h"

#include <algorithm>

namespace realizar {
namespace {

int32_t layer_of(uint32_t i) {
  return static_cast<int32_t>(i);
}

}  // namespace

Result<Decoder> Decoder::create(const Model& model, Backend& backend) {
  const ModelConfig& c = model.config();
  const uint32_t n_q = c.n_heads * c.head_dim, n_kv = c.n_kv_heads * c.head_dim;
  Decoder decoder(model, backend);
  const auto make = [&](ActId& act, uint32_t n_cols, Rows rows) -> Status {
    RZ_TRY(act, backend.create_activation(n_cols, rows));
    return {};
  };
  RZ_CHECK_OK(make(decoder.x_, c.d_model, Rows::kAll));
  RZ_CHECK_OK(make(decoder.normed_, c.d_model, Rows::kAll));
  RZ_CHECK_OK(make(decoder.branch_, c.d_model, Rows::kAll));
  RZ_CHECK_OK(make(decoder.q_, n_q, Rows::kAll));
  RZ_CHECK_OK(make(decoder.k_, n_kv, Rows::kAll));
  RZ_CHECK_OK(make(decoder.v_, n_kv, Rows::kAll));
  RZ_CHECK_OK(make(decoder.attended_, n_q, Rows::kAll));
  RZ_CHECK_OK(make(decoder.ff_, c.d_ff, Rows::kAll));
  if (c.moe.n_experts > 0) {
    RZ_CHECK_OK(make(decoder.router_logits_, c.moe.n_experts, Rows::kAll));
    RZ_CHECK_OK(make(decoder.expert_weights_, c.moe.n_used, Rows::kAll));
    RZ_CHECK_OK(make(decoder.expert_ids_, c.moe.n_used, Rows::kAll));
  }
  RZ_CHECK_OK(make(decoder.hidden_, c.d_model, Rows::kLogits));
  RZ_CHECK_OK(make(decoder.logits_, c.n_vocab, Rows::kLogits));
  return decoder;
}

void Decoder::encode(const StepBatch& batch) {
  tell_operations(batch);
  backend_->submit();
}

Status Decoder::reserve(const StepBatch& batch) {
  tell_operations(batch);
  return backend_->reserve();
}

void Decoder::tell_operations(const StepBatch& batch) {
  const ModelConfig& c = model_->config();
  const Weights& w = model_->weights();
  backend_->begin(batch);
  backend_->embed({.out = x_,
                   .table = w.embed,
                   .position_table = c.learned_positions ? w.position_embed : kNoWeight,
                   .scale = c.embed_scale});
  for (uint32_t i = 0; i < c.n_layers; ++i) layer(i);
  head();
  if (!batch.choices.empty()) backend_->choose({.logits = logits_});
}

void Decoder::layer(uint32_t i) {
  const LayerWeights& w = model_->weights().layers[i];
  norm(normed_, x_, w.attn_norm, w.attn_norm_bias, {OpRole::kAttn, layer_of(i)});
  attention(i);
  // In parallel placement the ffn reads what attention read.
  if (model_->config().norm_place != NormPlace::kParallel) {
    norm(normed_, x_, w.ffn_norm, w.ffn_norm_bias, {OpRole::kFfn, layer_of(i)});
  }
  ffn(i);
}

void Decoder::attention(uint32_t i) {
  const ModelConfig& c = model_->config();
  const LayerConfig& layer = c.layers[i];
  const LayerWeights& w = model_->weights().layers[i];
  const OpPlace qkv{OpRole::kQkv, layer_of(i)};
  backend_->linear({.out = q_, .in = normed_, .weight = w.wq, .bias = w.bq, .place = qkv});
  backend_->linear({.out = k_, .in = normed_, .weight = w.wk, .bias = w.bk, .place = qkv});
  backend_->linear({.out = v_, .in = normed_, .weight = w.wv, .bias = w.bv, .place = qkv});
  backend_->rope_store({.q = q_,
                        .k = k_,
                        .v = v_,
                        .layer = i,
                        .n_heads = c.n_heads,
                        .n_kv_heads = c.n_kv_heads,
                        .head_dim = c.head_dim,
                        .inv_freq = layer.rope ? model_->weights().inv_freq : kNoWeight,
                        .n_rot = c.rope.n_rot,
                        .rope_scale = c.rope.scale,
                        .q_norm = c.qk_norm ? w.q_norm : kNoWeight,
                        .k_norm = c.qk_norm ? w.k_norm : kNoWeight,
                        .norm_eps = c.norm_eps});
  backend_->attention({.out = attended_,
                       .q = q_,
                       .layer = i,
                       .n_heads = c.n_heads,
                       .n_kv_heads = c.n_kv_heads,
                       .head_dim = c.head_dim,
                       .scale = c.attn_scale,
                       .softcap = c.attn_softcap,
                       .window = layer.window});
  add_branch(attended_, w.wo, w.bo, w.attn_post_norm, {OpRole::kO, layer_of(i)});
}

void Decoder::ffn(uint32_t i) {
  const ModelConfig& c = model_->config();
  const LayerWeights& w = model_->weights().layers[i];
  const OpPlace down{OpRole::kDown, layer_of(i)};
  switch (c.layers[i].ffn) {
    case FfnKind::kGated:
      backend_->gated_linear({.out = ff_,
                              .in = normed_,
                              .gate = w.w_gate,
                              .up = w.w_up,
                              .activation = c.activation,
                              .place = {OpRole::kGateUp, layer_of(i)}});
      return add_branch(ff_, w.w_down, w.b_down, w.ffn_post_norm, down);
    case FfnKind::kPlain:
      backend_->linear({.out = ff_,
                        .in = normed_,
                        .weight = w.w_up,
                        .bias = w.b_up,
                        .activation = c.activation,
                        .place = {OpRole::kUp, layer_of(i)}});
      return add_branch(ff_, w.w_down, w.b_down, w.ffn_post_norm, down);
    case FfnKind::kExperts:
      return experts(i);
  }
}

void Decoder::experts(uint32_t i) {
  const ModelConfig& c = model_->config();
  const LayerWeights& w = model_->weights().layers[i];
  backend_->linear({.out = router_logits_, .in = normed_, .weight = w.router, .place = {OpRole::kRouter, layer_of(i)}});
  backend_->route({.logits = router_logits_,
                   .weights = expert_weights_,
                   .ids = expert_ids_,
                   .n_experts = c.moe.n_experts,
                   .n_used = c.moe.n_used,
                   .renormalize = c.moe.renormalize,
                   .scale = c.moe.scale,
                   .place = {OpRole::kNone, layer_of(i)}});
  backend_->experts({.out = x_,
                     .in = normed_,
                     .weights = expert_weights_,
                     .ids = expert_ids_,
                     .gate = w.w_gate,
                     .up = w.w_up,
                     .down = w.w_down,
                     .n_used = c.moe.n_used,
                     .activation = c.activation,
                     .place = {OpRole::kNone, layer_of(i)}});
}

// x += w . in + bias, normalized first where the model has a norm after the branch.
void Decoder::add_branch(ActId in, WeightId weight, WeightId bias, WeightId post_norm, OpPlace place) {
  const ModelConfig& c = model_->config();
  if (c.norm_place != NormPlace::kSandwich) {
    backend_->linear({.out = x_, .in = in, .weight = weight, .bias = bias, .accumulate = true, .place = place});
    return;
  }
  backend_->linear({.out = branch_, .in = in, .weight = weight, .bias = bias, .place = place});
  backend_->norm({.out = x_,
                  .in = branch_,
                  .weight = post_norm,
                  .kind = c.norm,
                  .eps = c.norm_eps,
                  .accumulate = true,
                  .place = {OpRole::kPost, place.layer}});
}

void Decoder::head() {
  const ModelConfig& c = model_->config();
  const Weights& w = model_->weights();
  backend_->select_rows({.out = hidden_, .in = x_});
  backend_->norm({.out = hidden_,
                  .in = hidden_,
                  .weight = w.final_norm,
                  .bias = w.final_norm_bias,
                  .kind = c.norm,
                  .eps = c.norm_eps,
                  .rows = Rows::kLogits,
                  .place = {OpRole::kFinal}});
  backend_->linear({.out = logits_,
                    .in = hidden_,
                    .weight = w.head,
                    .bias = w.head_bias,
                    .softcap = c.final_softcap,
                    .rows = Rows::kLogits,
                    .place = {OpRole::kHead}});
}

void Decoder::norm(ActId out, ActId in, WeightId weight, WeightId bias, OpPlace place) {
  const ModelConfig& c = model_->config();
  backend_->norm(
      {.out = out, .in = in, .weight = weight, .bias = bias, .kind = c.norm, .eps = c.norm_eps, .place = place});
}

Status Decoder::wait() {
  return backend_->wait();
}
std::span<const float> Decoder::logits() const {
  return backend_->read(logits_);
}
std::span<const float> Decoder::hidden() const {
  return backend_->read(hidden_);
}
std::span<const TokenId> Decoder::chosen() const {
  return backend_->chosen();
}

}  // namespace realizar
