// RWKV-7 ("Goose"): no attention; every layer has a time mix and a channel mix, and only its states remember. Folders
// are flash-linear-attention's.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kRwkv7HfClasses[] = {"RWKV7ForCausalLM", "Rwkv7ForCausalLM"};

constexpr TensorSpec square(Role role, std::string_view gguf, std::string_view hf) {
  return whole(role, kRequired, Dim::kModel, Dim::kModel, gguf, hf);
}
constexpr TensorSpec factors(Role role, std::string_view gguf, std::string_view hf) {
  return whole(role, kRequired, Dim::kModel, Dim::kNone, gguf, hf);
}
constexpr TensorSpec shift(Role role, std::string_view hf) {
  return whole(role, kRequired, Dim::kModel, Dim::kNone, "", hf);
}

constexpr auto kRwkv7Tensors = joined(
    with_hf(kEmbed, "model.embeddings.weight"), with_hf(kEmbedNorm, "model.layers.0.pre_norm.weight"),
    with_hf(kEmbedNormBias, "model.layers.0.pre_norm.bias"), kHead, kFinalNorm, kFinalNormBias,
    with_hf(kAttnNorm, "model.layers.{}.attn_norm.weight"), with_hf(kAttnNormBias, "model.layers.{}.attn_norm.bias"),
    whole(Role::kShifts, kRequired, Dim::kShifts, Dim::kModel, "blk.{}.time_mix_lerp_fused.weight",
          "model.layers.{}.attn.x_x"),
    shift(Role::kShiftR, "model.layers.{}.attn.x_r"), shift(Role::kShiftDecay, "model.layers.{}.attn.x_w"),
    shift(Role::kShiftK, "model.layers.{}.attn.x_k"), shift(Role::kShiftV, "model.layers.{}.attn.x_v"),
    shift(Role::kShiftRate, "model.layers.{}.attn.x_a"), shift(Role::kShiftGate, "model.layers.{}.attn.x_g"),
    square(Role::kWq, "blk.{}.time_mix_receptance.weight", "model.layers.{}.attn.r_proj.weight"),
    square(Role::kWk, "blk.{}.time_mix_key.weight", "model.layers.{}.attn.k_proj.weight"),
    square(Role::kWv, "blk.{}.time_mix_value.weight", "model.layers.{}.attn.v_proj.weight"),
    whole(Role::kDecayLow, kRequired, Dim::kDecayRank, Dim::kModel, "blk.{}.time_mix_w1.weight",
          "model.layers.{}.attn.w_lora.lora.0.weight"),
    whole(Role::kDeltaDecay, kRequired, Dim::kModel, Dim::kDecayRank, "blk.{}.time_mix_w2.weight",
          "model.layers.{}.attn.w_lora.lora.2.weight"),
    factors(Role::kDecayBias, "blk.{}.time_mix_w0.weight", "model.layers.{}.attn.w_lora.lora.2.bias"),
    whole(Role::kRateLow, kRequired, Dim::kRateRank, Dim::kModel, "blk.{}.time_mix_a1.weight",
          "model.layers.{}.attn.a_lora.lora.0.weight"),
    whole(Role::kRate, kRequired, Dim::kModel, Dim::kRateRank, "blk.{}.time_mix_a2.weight",
          "model.layers.{}.attn.a_lora.lora.2.weight"),
    factors(Role::kRateBias, "blk.{}.time_mix_a0.weight", "model.layers.{}.attn.a_lora.lora.2.bias"),
    whole(Role::kVShareLow, kRequired, Dim::kVShareRank, Dim::kModel, "blk.{}.time_mix_v1.weight",
          "model.layers.{}.attn.v_lora.lora.0.weight"),
    whole(Role::kVShare, kRequired, Dim::kModel, Dim::kVShareRank, "blk.{}.time_mix_v2.weight",
          "model.layers.{}.attn.v_lora.lora.2.weight"),
    factors(Role::kVShareBias, "blk.{}.time_mix_v0.weight", "model.layers.{}.attn.v_lora.lora.2.bias"),
    whole(Role::kGateLow, kRequired, Dim::kGateRank, Dim::kModel, "blk.{}.time_mix_g1.weight",
          "model.layers.{}.attn.g_lora.lora.0.weight"),
    whole(Role::kDeltaGate, kRequired, Dim::kModel, Dim::kGateRank, "blk.{}.time_mix_g2.weight",
          "model.layers.{}.attn.g_lora.lora.2.weight"),
    factors(Role::kRemovalScale, "blk.{}.time_mix_k_k.weight", "model.layers.{}.attn.k_k"),
    factors(Role::kRateScale, "blk.{}.time_mix_k_a.weight", "model.layers.{}.attn.k_a"),
    factors(Role::kBonusScale, "blk.{}.time_mix_r_k.weight", ""),
    whole(Role::kBonusScale, kRequired, Dim::kSsmHeads, Dim::kSsmGroup, "", "model.layers.{}.attn.r_k"),
    factors(Role::kSsmNorm, "blk.{}.time_mix_ln.weight", "model.layers.{}.attn.g_norm.weight"),
    factors(Role::kSsmNormBias, "blk.{}.time_mix_ln.bias", "model.layers.{}.attn.g_norm.bias"),
    square(Role::kWo, "blk.{}.time_mix_output.weight", "model.layers.{}.attn.o_proj.weight"),
    norm(Role::kFfnNorm, "blk.{}.attn_norm_2.weight", "model.layers.{}.ffn_norm.weight"),
    norm(Role::kFfnNormBias, "blk.{}.attn_norm_2.bias", "model.layers.{}.ffn_norm.bias"),
    factors(Role::kFfnShift, "blk.{}.channel_mix_lerp_k.weight", "model.layers.{}.ffn.x_k"),
    whole(Role::kWUp, kRequired, Dim::kFf, Dim::kModel, "blk.{}.channel_mix_key.weight",
          "model.layers.{}.ffn.key.weight"),
    whole(Role::kWDown, kRequired, Dim::kModel, Dim::kFf, "blk.{}.channel_mix_value.weight",
          "model.layers.{}.ffn.value.weight"));

constexpr HfFlag kRwkv7HfFlags[] = {{"norm_first", true}, {"norm_bias", true}};

}  // namespace

const ArchSpec kRwkv7{.name = "rwkv7",
                      .hf_classes = kRwkv7HfClasses,
                      .tensors = kRwkv7Tensors,
                      .norm = NormKind::kLayer,
                      .mixer = MixerKind::kRwkv7,
                      .ffn = FfnKind::kChannelMix,
                      .activation = Activation::kReluSquared,
                      .hf_n_ctx = 1 << 20,
                      .hf_flags = kRwkv7HfFlags,
                      .hf_keys = {.n_ctx = "", .norm_eps = "norm_eps", .d_ff_factor = 4},
                      .hf_ssm_keys = {.head_dim = "head_dim"}};

}  // namespace realizar
