// Grok 1 and 2: norms before and after each branch, experts with GELU and, in Grok 2, a dense ffn in parallel to them;
// soft caps on q.k and on the logits. Folders of Grok 1 have one of two sets of names and are computed like GGUF files
// in llama.cpp; folders of Grok 2 are divided among eight devices and are not read.
#include <numbers>

#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr TensorSpec dense(Role role, std::string_view gguf) {
  return optional(shared_expert(role, gguf, ""));
}

constexpr std::string_view kClasses[] = {"GrokForCausalLM"}, kGrok1Classes[] = {"Grok1ModelForCausalLM"};

constexpr TensorSpec kPostAttnNorm = kAttnOutNorm;
constexpr TensorSpec kPostFfnNorm = kLayerOutNorm;

constexpr auto kGrokTensors = joined(
    with_hf(kEmbed, "transformer.in_out_embed.weight"), kHead, with_hf(kFinalNorm, "transformer.rms_norm.weight"),
    with_hf(kAttnNorm, "transformer.decoder_layer.{}.rms_norm.weight"),
    with_hf(kWq, "transformer.decoder_layer.{}.multi_head_attention.query.weight"),
    with_hf(kWk, "transformer.decoder_layer.{}.multi_head_attention.key.weight"),
    with_hf(kWv, "transformer.decoder_layer.{}.multi_head_attention.value.weight"),
    with_hf(kWo, "transformer.decoder_layer.{}.multi_head_attention.linear.weight"),
    with_hf(kAttnOutNorm, "transformer.decoder_layer.{}.rms_norm_1.weight"),
    with_hf(kFfnNorm, "transformer.decoder_layer.{}.rms_norm_2.weight"),
    dense(Role::kSharedGate, "blk.{}.ffn_gate.weight"), dense(Role::kSharedUp, "blk.{}.ffn_up.weight"),
    dense(Role::kSharedDown, "blk.{}.ffn_down.weight"), with_hf(kRouter, "transformer.decoder_layer.{}.router.weight"),
    with_hf(kExpertGate, "transformer.decoder_layer.{}.moe.{}.linear.weight"),
    with_hf(kExpertUp, "transformer.decoder_layer.{}.moe.{}.linear_v.weight"),
    with_hf(kExpertDown, "transformer.decoder_layer.{}.moe.{}.linear_1.weight"),
    with_hf(kPostFfnNorm, "transformer.decoder_layer.{}.rms_norm_3.weight"), gguf_only(kSandwichFfnPostNorm));

constexpr auto kGrok1Tensors = joined(
    kEmbed, kHead, with_hf(kFinalNorm, "model.norm.scale"), with_hf(kAttnNorm, "model.layers.{}.pre_attn_norm.scale"),
    with_hf(kWq, "model.layers.{}.attn.q_proj.weight"), with_hf(kWk, "model.layers.{}.attn.k_proj.weight"),
    with_hf(kWv, "model.layers.{}.attn.v_proj.weight"), with_hf(kWo, "model.layers.{}.attn.o_proj.weight"),
    with_hf(kAttnOutNorm, "model.layers.{}.post_attn_norm.scale"),
    with_hf(kFfnNorm, "model.layers.{}.pre_moe_norm.scale"), with_hf(kRouter, "model.layers.{}.moe_block.gate.weight"),
    with_hf(kExpertGate, "model.layers.{}.moe_block.experts.{}.linear.weight"),
    with_hf(kExpertUp, "model.layers.{}.moe_block.experts.{}.linear_v.weight"),
    with_hf(kExpertDown, "model.layers.{}.moe_block.experts.{}.linear_1.weight"),
    with_hf(kPostFfnNorm, "model.layers.{}.post_moe_norm.scale"));

// Only for Grok 2.
constexpr HfFlag kGrokHfFlags[] = {{"residual_moe", false}};
constexpr HfNumber kGrokHfNumbers[] = {{"attn_temperature_len", 0}, {"max_attn_value", 30}};

Status adjust_grok(const ConfigKeys&, ModelConfig& c) {
  change_each<AttentionConfig>(c, [](AttentionConfig& own) {
    if (own.softcap == 0) own.softcap = 30;
  });
  change_each<ExpertsConfig>(c, [](ExpertsConfig& own) {
    if (own.d_shared_ff > 0) own.out_scale = 0.5f * std::numbers::sqrt2_v<float>;
  });
  return {};
}

// llama.cpp, LLM_ARCH_GROK: files may lack these factors.
constexpr ArchSpec grok() {
  ArchSpec spec;
  spec.name = "grok";
  spec.hf_classes = kClasses;
  spec.tensors = kGrokTensors;
  spec.norm_place = NormPlace::kSandwich;
  spec.activation = Activation::kGelu;
  spec.embed_scale = {"embedding_scale", "embedding_multiplier_scale"};
  spec.embed_scale.gguf_otherwise = spec.embed_scale.hf_otherwise = 78.38367176906169f;
  spec.attn_scale = {"attention.output_scale", "attn_output_multiplier"};
  spec.attn_scale.gguf_otherwise = spec.attn_scale.hf_otherwise = 0.08838834764831845f;
  spec.logit_scale = {"logit_scale", "output_multiplier_scale"};
  spec.logit_scale.gguf_otherwise = spec.logit_scale.hf_otherwise = 0.5773502691896257f;
  spec.softcaps = Need::kOptional;
  spec.moe = MoeRule::kAlways;
  spec.hf_flags = kGrokHfFlags;
  spec.hf_numbers = kGrokHfNumbers;
  spec.routing = {.is_dense_shared = true};
  spec.adjust = adjust_grok;
  spec.hf_keys.activation = "";
  return spec;
}

constexpr ArchSpec grok1() {
  ArchSpec spec = grok();
  spec.name = "grok-1";
  spec.hf_classes = kGrok1Classes;
  spec.tensors = kGrok1Tensors;
  spec.routing = {};
  spec.hf_keys.n_experts = "num_experts";
  return spec;
}

}  // namespace

const ArchSpec kGrok = grok();
const ArchSpec kGrok1 = grok1();

}  // namespace realizar
