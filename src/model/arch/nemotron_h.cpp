// Nemotron-H: layers that are Mamba 2, attention without rotation, or an ffn with squared ReLUs, each alone; in some
// models the ffns are experts, chosen by sigmoids, and one shared expert; those of Nemotron 3 Super stand behind a
// latent.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kNemotronHHfClasses[] = {"NemotronHForCausalLM"};

constexpr auto kMixerTensors = joined(
    with_hf(kEmbed, "backbone.embeddings.weight"), kHead, with_hf(kFinalNorm, "backbone.norm_f.weight"),
    with_hf(kAttnNorm, "backbone.layers.{}.norm.weight"), kGgufWqkv,
    with_hf(kWq, "backbone.layers.{}.mixer.q_proj.weight"), with_hf(kWk, "backbone.layers.{}.mixer.k_proj.weight"),
    with_hf(kWv, "backbone.layers.{}.mixer.v_proj.weight"), with_hf(kWo, "backbone.layers.{}.mixer.o_proj.weight"),
    with_hf(kMamba2In, "backbone.layers.{}.mixer.in_proj.weight"),
    with_hf(kMamba2Conv, "backbone.layers.{}.mixer.conv1d.weight"),
    with_hf(kMamba2ConvBias, "backbone.layers.{}.mixer.conv1d.bias"),
    with_hf(kMamba2DtBias, "backbone.layers.{}.mixer.dt_bias"), with_hf(kMamba2A, "backbone.layers.{}.mixer.A_log"),
    with_hf(kMamba2D, "backbone.layers.{}.mixer.D"), kMamba2Norm,
    with_hf(kHfMamba2Norm, "backbone.layers.{}.mixer.norm.weight"),
    with_hf(kMamba2Out, "backbone.layers.{}.mixer.out_proj.weight"));

constexpr auto kFfnTensors = joined(with_hf(kWUp, "backbone.layers.{}.mixer.up_proj.weight"),
                                    with_hf(kWDown, "backbone.layers.{}.mixer.down_proj.weight"),
                                    with_hf(kUpBias, "backbone.layers.{}.mixer.up_proj.bias"),
                                    with_hf(kDownBias, "backbone.layers.{}.mixer.down_proj.bias"));

constexpr TensorSpec kNemotronHRouter = with_hf(kRouter, "backbone.layers.{}.mixer.gate.weight");
constexpr auto kExpertTensors =
    joined(with_hf(kChoiceBias, "backbone.layers.{}.mixer.gate.e_score_correction_bias"),
           by_rows(Role::kExpertUp, Dim::kExpertFf, Dim::kExpertIn, "blk.{}.ffn_up_exps.weight",
                   "backbone.layers.{}.mixer.experts.{}.up_proj.weight"),
           by_cols(Role::kExpertDown, Dim::kExpertIn, Dim::kExpertFf, "blk.{}.ffn_down_exps.weight",
                   "backbone.layers.{}.mixer.experts.{}.down_proj.weight"),
           whole(Role::kExpertLatentDown, kRequired, Dim::kExpertIn, Dim::kModel, "blk.{}.ffn_latent_down.weight",
                 "backbone.layers.{}.mixer.fc1_latent_proj.weight"),
           whole(Role::kExpertLatentUp, kRequired, Dim::kModel, Dim::kExpertIn, "blk.{}.ffn_latent_up.weight",
                 "backbone.layers.{}.mixer.fc2_latent_proj.weight"),
           with_hf(kSharedUp, "backbone.layers.{}.mixer.shared_experts.up_proj.weight"),
           with_hf(kSharedDown, "backbone.layers.{}.mixer.shared_experts.down_proj.weight"));

constexpr auto kNemotronHTensors = joined(kMixerTensors, kFfnTensors, optional(kNemotronHRouter), kExpertTensors);
constexpr auto kNemotronHMoeTensors = joined(kMixerTensors, kNemotronHRouter, kExpertTensors);

constexpr Default kNemotronHDefaults[] = {
    {.gguf = "attention.layer_norm_rms_epsilon", .gguf_other = "attention.layer_norm_epsilon"}};

constexpr HfFlag kNemotronHHfFlags[] = {{"use_bias", false}, {"mamba_proj_bias", false}, {"attention_bias", false}};
constexpr HfSsmKeys kNemotronHHfSsmKeys{.n_heads = "mamba_num_heads",
                                        .head_dim = "mamba_head_dim",
                                        .n_groups = "n_groups",
                                        .d_state = "ssm_state_size",
                                        .n_taps = "conv_kernel"};
constexpr HfKeys kNemotronHHfKeys{.norm_eps = "layer_norm_epsilon",
                                  .activation = "mlp_hidden_act",
                                  .n_experts = "n_routed_experts",
                                  .expert_d_ff = "moe_intermediate_size",
                                  .shared_d_ff = "moe_shared_expert_intermediate_size",
                                  .renormalize = "norm_topk_prob",
                                  .routed_scale = "routed_scaling_factor"};

}  // namespace

const ArchSpec kNemotronH{.name = "nemotron_h",
                          .hf_classes = kNemotronHHfClasses,
                          .tensors = kNemotronHTensors,
                          .norm_place = NormPlace::kParallel,
                          .recurrent = MixerKind::kMamba2,
                          .has_one_branch = true,
                          .ffn = FfnKind::kPlain,
                          .activation = Activation::kReluSquared,
                          .nope_interval = 1,
                          .moe = MoeRule::kIfConfigured,
                          .defaults = kNemotronHDefaults,
                          .hf_flags = kNemotronHHfFlags,
                          .hf_left_out = "mtp.",
                          .routing = {.score = RouteScore::kSigmoid, .hf_renormalize = true},
                          .hf_keys = kNemotronHHfKeys,
                          .hf_ssm_keys = kNemotronHHfSsmKeys};

const ArchSpec kNemotronHMoe{.name = "nemotron_h_moe",
                             .hf_classes = {},
                             .tensors = kNemotronHMoeTensors,
                             .norm_place = NormPlace::kParallel,
                             .recurrent = MixerKind::kMamba2,
                             .has_one_branch = true,
                             .ffn = FfnKind::kPlain,
                             .activation = Activation::kReluSquared,
                             .nope_interval = 1,
                             .moe = MoeRule::kAlways,
                             .defaults = kNemotronHDefaults,
                             .routing = {.score = RouteScore::kSigmoid, .renormalize = false}};

}  // namespace realizar
