// Granite 4 H: layers of Mamba 2, and some with attention, in most models without rotations; dense, or with experts and
// a shared one. Bamba is a dense model of this kind with rotations. Its GGUF files use Granite's name, its folders
// other names.
#include "model/arch/granite_rope.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGraniteHybridHfClasses[] = {"GraniteMoeHybridForCausalLM"};
constexpr std::string_view kBambaClasses[] = {"BambaForCausalLM"};

// Folders of dense models give the ffn the shared expert's names.
constexpr std::string_view kHfSharedIn = "model.layers.{}.shared_mlp.input_linear.weight",
                           kHfSharedOut = "model.layers.{}.shared_mlp.output_linear.weight";

constexpr auto kGraniteHybridTensors = joined(
    kEnds, kAttnNorm, kGgufQkv, kQkvo, optional(kQkvBiases), optional(kBo), kMamba2Mixer, kFfnNorm, gguf_only(kWGate),
    gguf_only(kWUp), optional(hf_only(kWGateUp, kHfSharedIn)), with_hf(kWDown, kHfSharedOut), gguf_only(kGatedBiases),
    with_hf(kRouter, "model.layers.{}.block_sparse_moe.router.layer.weight"), gguf_only(kExpertGate),
    gguf_only(kExpertUp), fused_experts("model.layers.{}.block_sparse_moe.input_linear.weight"),
    with_hf(kExpertDown, "model.layers.{}.block_sparse_moe.output_linear.weight"), optional(gguf_only(kSharedGate)),
    optional(gguf_only(kSharedUp)),
    optional(by_rows(Role::kSharedGateUp, Dim::kSharedGateUp, Dim::kModel, "", kHfSharedIn)),
    optional(with_hf(kSharedDown, kHfSharedOut)), kRopeFactors);

constexpr auto kBambaTensors = joined(kEmbed, kHead, with_hf(kFinalNorm, "model.final_layernorm.weight"), kAttention,
                                      kMamba2Mixer, with_hf(kFfnNorm, "model.layers.{}.pre_ff_layernorm.weight"),
                                      with_hf(kWGate, "model.layers.{}.feed_forward.gate_proj.weight"),
                                      with_hf(kWUp, "model.layers.{}.feed_forward.up_proj.weight"),
                                      with_hf(kWDown, "model.layers.{}.feed_forward.down_proj.weight"));

constexpr HfFlag kGraniteHybridHfFlags[] = {{"mamba_proj_bias", false}};
constexpr HfFlag kBambaFlags[] = {{"mamba_proj_bias", false}, {"attention_bias", false}, {"mlp_bias", false}};
// The scan's norm spans all groups, which makes no difference for one group.
constexpr HfNumber kBambaNumbers[] = {{"mamba_n_groups", 1}};
constexpr HfSsmKeys kGraniteHybridHfSsmKeys{.n_heads = "mamba_n_heads",
                                            .head_dim = "mamba_d_head",
                                            .n_groups = "mamba_n_groups",
                                            .d_state = "mamba_d_state",
                                            .n_taps = "mamba_d_conv"};
constexpr HfSsmKeys bamba_ssm_keys() {
  HfSsmKeys keys = kGraniteHybridHfSsmKeys;
  keys.attending_layers = "attn_layer_indices";
  return keys;
}

}  // namespace

const ArchSpec kGraniteHybrid{.name = "granitehybrid",
                              .hf_classes = kGraniteHybridHfClasses,
                              .tensors = kGraniteHybridTensors,
                              .recurrent = MixerKind::kMamba2,
                              .rope_pairs = RopePairs::kGguf,
                              .embed_scale = {"embedding_scale", "embedding_multiplier"},
                              .residual_scale = {"residual_scale", "residual_multiplier"},
                              .attn_scale = {"attention.scale", "attention_multiplier"},
                              .logit_scale = {"logit_scale", "logits_scaling", true, true},
                              .moe = MoeRule::kIfConfigured,
                              .hf_flags = kGraniteHybridHfFlags,
                              .hf_keys = {.d_ff = "shared_intermediate_size",
                                          .shared_d_ff = "shared_intermediate_size",
                                          .layer_kinds = "layer_types"},
                              .hf_ssm_keys = kGraniteHybridHfSsmKeys,
                              .adjust = read_granite_rope,
                              .tell = tell_hybrid_rope};

// transformers, BambaConfig: half of each head is rotated.
const ArchSpec kBamba{.name = "bamba",
                      .hf_classes = kBambaClasses,
                      .tensors = kBambaTensors,
                      .recurrent = MixerKind::kMamba2,
                      .rope_pairs = RopePairs::kGguf,
                      .hf_rope_share = 0.5,
                      .hf_flags = kBambaFlags,
                      .hf_numbers = kBambaNumbers,
                      .hf_keys = {.n_rot = "attn_rotary_emb"},
                      .hf_ssm_keys = bamba_ssm_keys()};

}  // namespace realizar
