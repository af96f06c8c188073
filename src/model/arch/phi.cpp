// Phi-2 (one LayerNorm, attention and ffn in parallel, partial rope, biases), Phi-3 (Llama with fused matrices) and
// Phi-3.5-MoE (norms with biases, and experts). Its folders have LayerNorms, windows and SparseMixer's choice of
// experts; in GGUF files, which are llama.cpp's, norms are of the RMS, and experts are chosen by a softmax.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

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

}  // namespace

const ArchSpec kPhiMoe{.name = "phimoe",
                       .hf_classes = kPhiMoeClasses,
                       .tensors = kPhiMoeTensors,
                       .hf_norm = NormKind::kLayer,
                       .has_window = true,
                       .gguf_lacks_window = true,
                       .hf_rope_base = 1000000,
                       .moe = MoeRule::kAlways,
                       .routing = {.hf_sparse_mixer = true}};

const ArchSpec kPhi2{.name = "phi2",
                     .hf_classes = kPhi2Classes,
                     .tensors = kPhi2Tensors,
                     .norm = NormKind::kLayer,
                     .norm_place = NormPlace::kParallel,
                     .ffn = FfnKind::kPlain,
                     .activation = Activation::kGelu,
                     .hf_keys = {.norm_eps = "layer_norm_eps"}};

const ArchSpec kPhi3{.name = "phi3", .hf_classes = kPhi3Classes, .tensors = kPhi3Tensors, .has_window = true};

}  // namespace realizar
