// Falcon-H1: in every layer attention and Mamba 2 beside each other, then a gated ffn. Folders have factors on all of
// their parts, which GGUF has in the weights.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kFalconH1HfClasses[] = {"FalconH1ForCausalLM"};

constexpr auto kFalconH1Tensors =
    joined(kEmbed, kHead, with_hf(kFinalNorm, "model.final_layernorm.weight"), kAttention, kMamba2Parts,
           optional(kMamba2Norm), optional(kHfMamba2Norm), kMamba2Out,
           norm(Role::kFfnNorm, "blk.{}.ffn_norm", "model.layers.{}.pre_ff_layernorm.weight"),
           with_hf(kWGate, "model.layers.{}.feed_forward.gate_proj.weight"),
           with_hf(kWUp, "model.layers.{}.feed_forward.up_proj.weight"),
           with_hf(kWDown, "model.layers.{}.feed_forward.down_proj.weight"), gguf_only(kGatedBiases), kRopeFactors);

constexpr HfFlag kFalconH1HfFlags[] = {{"mamba_proj_bias", false},
                                       {"projectors_bias", false},
                                       {"attention_bias", false},
                                       {"mlp_bias", false},
                                       {"mamba_norm_before_gate", false}};

}  // namespace

const ArchSpec kFalconH1{.name = "falcon-h1",
                         .hf_classes = kFalconH1HfClasses,
                         .tensors = kFalconH1Tensors,
                         .beside = MixerKind::kMamba2,
                         .embed_scale = {"", "embedding_multiplier"},
                         .attn_scale = {"attention.scale", ""},
                         .logit_scale = {"", "lm_head_multiplier"},
                         .hf_has_multipliers = true,
                         .hf_flags = kFalconH1HfFlags,
                         .hf_ssm_keys = {.n_heads = "mamba_n_heads",
                                         .head_dim = "mamba_d_head",
                                         .n_groups = "mamba_n_groups",
                                         .d_state = "mamba_d_state",
                                         .n_taps = "mamba_d_conv"}};

}  // namespace realizar
