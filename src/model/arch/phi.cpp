// Phi-2 (one LayerNorm, attention and ffn in parallel, partial rope, biases), Phi-3 (Llama with fused matrices) and
// Phi-3.5-MoE (norms with biases, and experts). Folders of the last have LayerNorms, windows and SparseMixer's routing;
// GGUF files have RMS norms and softmax routing, like llama.cpp.
#include <fmt/format.h>

#include <cmath>

#include "base/try.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kPhi2Classes[] = {"PhiForCausalLM"};
constexpr std::string_view kPhi3Classes[] = {"Phi3ForCausalLM"};
constexpr std::string_view kPhiMoeClasses[] = {"PhiMoEForCausalLM", "PhimoeForCausalLM"};

constexpr auto kPhi2Tensors = joined(
    kEmbed, required(kHead), required(kHeadBias), with_hf(kFinalNorm, "model.final_layernorm.weight"),
    with_hf(kFinalNormBias, "model.final_layernorm.bias"), kAttnNorm, kAttnNormBias,
    // A file has q, k, v apart or fused, never both.
    kGgufQkv, kWq, kWk, kWv, kQkvBiases, with_hf(kWo, "model.layers.{}.self_attn.dense.weight"),
    with_hf(kBo, "model.layers.{}.self_attn.dense.bias"), with_hf(kWUp, "model.layers.{}.mlp.fc1.weight"),
    required(with_hf(kUpBias, "model.layers.{}.mlp.fc1.bias")), with_hf(kWDown, "model.layers.{}.mlp.fc2.weight"),
    required(with_hf(kDownBias, "model.layers.{}.mlp.fc2.bias")));

constexpr auto kPhi3Tensors = joined(kEnds, kAttnNorm, kWqkv, kWo, kFfnNorm, kWGateUp, kWDown, kLongRopeFactors);

constexpr auto kPhiMoeTensors = joined(kEmbed, kHead, kHeadBias, kFinalNorm, kFinalNormBias, kAttnNorm, kAttnNormBias,
                                       kGgufQkv, kQkvo, optional(kQkvBiases), optional(kBo), kFfnNorm, kFfnNormBias,
                                       kMixtralRouter, kMixtralExperts, kLongRopeFactors);

// transformers, PhimoeConfig: half of the relative distance that a logit may have from the largest; two experts are
// chosen.
Status use_sparse_mixer(const ConfigKeys& keys, ModelConfig& c) {
  constexpr std::string_view kNoise = "router_jitter_noise";
  constexpr double kNoiseByDefault = 0.01;
  RZ_TRY(const auto noise, keys.file().metadata().get_double(kNoise));
  if (!(noise.value_or(kNoiseByDefault) >= 0 && std::isfinite(noise.value_or(0)))) {
    return out_of_range(keys.file(), kNoise, "a finite number of 0 or more", fmt::format("{}", *noise));
  }
  const std::string_view key = keys.spec().hf_keys.n_experts_used;
  for (LayerConfig& layer : c.layers) {
    auto& experts = std::get<ExpertsConfig>(layer.ffn);
    if (experts.n_used != 2) {
      return unsupported(fmt::format("{}: {} = {} is not supported for {}: its rule chooses 2",
                                     keys.file().path().string(), key, experts.n_used, keys.spec().name),
                         std::string(key));
    }
    experts.score = RouteScore::kSparseMixer;
    experts.near_share = static_cast<float>(2 * noise.value_or(kNoiseByDefault));
    experts.renormalize = false;
  }
  return {};
}

// llama.cpp reads no window, although files have one.
Status adjust_phimoe(const ConfigKeys& keys, ModelConfig& c) {
  if (keys.is_gguf()) {
    change_each<AttentionConfig>(c, [](AttentionConfig& own) { own.window = 0; });
    return {};
  }
  c.norm = NormKind::kLayer;
  return use_sparse_mixer(keys, c);
}

}  // namespace

const ArchSpec kPhiMoe{.name = "phimoe",
                       .hf_classes = kPhiMoeClasses,
                       .tensors = kPhiMoeTensors,
                       .window_rule = WindowRule::kByInterval,
                       .hf_rope_base = 1000000,
                       .moe = MoeRule::kAlways,
                       .adjust = adjust_phimoe};

const ArchSpec kPhi2{.name = "phi2",
                     .hf_classes = kPhi2Classes,
                     .tensors = kPhi2Tensors,
                     .norm = NormKind::kLayer,
                     .norm_place = NormPlace::kParallel,
                     .ffn = FfnKind::kPlain,
                     .activation = Activation::kGelu,
                     .hf_keys = {.norm_eps = "layer_norm_eps"}};

const ArchSpec kPhi3{
    .name = "phi3", .hf_classes = kPhi3Classes, .tensors = kPhi3Tensors, .window_rule = WindowRule::kByInterval};

}  // namespace realizar
