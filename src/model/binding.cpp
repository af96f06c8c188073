// Loads a model's weights onto a backend and checks that every tensor of the file is claimed.
#include "base/try.h"
#include "model/config_reader.h"
#include "model/forward.h"
#include "model/model.h"
#include "model/tensor_binder.h"

namespace realizar {
namespace {

Status bind_scores(TensorBinder& tensors, Weights& w) {
  RZ_TRY(w.pooler, tensors.matrix(Role::kPooler));
  RZ_TRY(w.pooler_bias, tensors.vector(Role::kPoolerBias));
  RZ_TRY(w.score, tensors.matrix(Role::kScore));
  RZ_TRY(w.score_bias, tensors.vector(Role::kScoreBias));
  return {};
}

// Tables come last: a backend that can keep them off its device then knows how much of the device the rest takes.
Status bind_top(const ModelConfig& c, TensorBinder& tensors, Weights& w) {
  if (tensors.is_known(Role::kHead)) {
    RZ_TRY(w.head, tensors.head());
  }
  if (c.n_labels > 0) RZ_CHECK_OK(bind_scores(tensors, w));
  RZ_TRY(w.dense_up, tensors.matrix(Role::kDenseUp));
  RZ_TRY(w.dense_down, tensors.matrix(Role::kDenseDown));
  RZ_TRY(w.final_norm, tensors.norm(Role::kFinalNorm));
  RZ_TRY(w.final_norm_bias, tensors.vector(Role::kFinalNormBias));
  RZ_TRY(w.head_bias, tensors.vector(Role::kHeadBias));
  for (const RopeConfig& rope : c.ropes) {
    RZ_TRY(const WeightId inv_freq, tensors.upload(rope.inv_freq));
    w.inv_freqs.push_back(inv_freq);
  }
  RZ_TRY(w.embed_norm, tensors.norm(Role::kEmbedNorm));
  RZ_TRY(w.embed_norm_bias, tensors.vector(Role::kEmbedNormBias));
  RZ_TRY(w.embed, tensors.matrix(Role::kEmbed, {}, c.is_head_tied ? kHeadShardUnit : 0));
  RZ_TRY(w.position_embed, tensors.positions());
  RZ_TRY(w.type_embed, tensors.matrix(Role::kTypeEmbed));
  RZ_TRY(w.layer_table, bind_table(c, tensors));
  RZ_TRY(w.altup, bind_ends(c.altup, tensors));
  if (c.is_head_tied) w.head = w.embed;
  return {};
}

Status bind_layer(const LayerConfig& c, TensorBinder& tensors, LayerWeights& w) {
  RZ_TRY(w.attn_norm, tensors.norm(Role::kAttnNorm));
  RZ_TRY(w.attn_norm_bias, tensors.vector(Role::kAttnNormBias));
  RZ_TRY(w.attn_post_norm, tensors.norm(Role::kAttnPostNorm));
  RZ_TRY(w.ffn_norm, tensors.norm(Role::kFfnNorm));
  RZ_TRY(w.ffn_norm_bias, tensors.vector(Role::kFfnNormBias));
  RZ_TRY(w.ffn_post_norm, tensors.norm(Role::kFfnPostNorm));
  RZ_TRY(w.attn_post_norm_bias, tensors.vector(Role::kAttnPostNormBias));
  RZ_TRY(w.ffn_post_norm_bias, tensors.vector(Role::kFfnPostNormBias));
  const auto bind_kind = [&tensors](const auto& kind, auto& weights) -> Status {
    RZ_TRY(weights, bind(kind, tensors));
    return {};
  };
  RZ_CHECK_OK(std::visit([&](const auto& mixer) { return bind_kind(mixer, w.mixer); }, c.mixer));
  return std::visit([&](const auto& ffn) { return bind_kind(ffn, w.ffn); }, c.ffn);
}

Result<Weights> bind_all(const ModelConfig& config, TensorBinder& tensors) {
  Weights w;
  RZ_CHECK_OK(bind_top(config, tensors, w));
  w.layers.resize(config.n_layers);
  for (uint32_t layer = 0; layer < config.n_layers; ++layer) {
    tensors.begin_layer(layer);
    RZ_CHECK_OK(bind_layer(config.layers[layer], tensors, w.layers[layer]));
    RZ_TRY(w.layers[layer].input, bind(config.layer_table, tensors));
    RZ_TRY(w.layers[layer].altup, bind(config.altup, tensors));
  }
  // Models trained for scores that give vectors have poolers they do not use.
  for (const Role role : {Role::kPooler, Role::kPoolerBias}) tensors.ignore(role);
  RZ_CHECK_OK(tensors.claim_ignored());
  RZ_CHECK_OK(tensors.check_all_claimed());
  return w;
}

}  // namespace

Status check_tensors(const ModelFile& file, const ModelConfig& config) {
  RZ_TRY(const ArchSpec* spec, find_architecture(file));
  const ModelOptions options;
  TensorBinder tensors(file, *spec, config, nullptr, options);
  RZ_CHECK_OK(bind_all(config, tensors));
  return {};
}

Result<Model> Model::load(const ModelFile& file, Backend& backend, const ModelOptions& options) {
  RZ_TRY(const ModelConfig config, read_config(file, options));
  return load(file, config, backend, options);
}

Result<Model> Model::load(const ModelFile& file, const ModelConfig& config, Backend& backend,
                          const ModelOptions& options) {
  RZ_CHECK_OK(backend.check(outline_forward(config)));
  RZ_TRY(const ArchSpec* spec, find_architecture(file));
  Model model;
  model.config_ = config;
  TensorBinder tensors(file, *spec, config, &backend, options);
  RZ_TRY(model.weights_, bind_all(config, tensors));
  model.weights_hash_ = tensors.weights_hash();
  RZ_TRY(model.adapter_targets_,
         AdapterTargets::create(tensors.take_targets(), options.adapters, config, model.weights_, backend));
  return model;
}

}  // namespace realizar
