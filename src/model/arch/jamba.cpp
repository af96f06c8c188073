// Jamba: layers of Mamba, with norms of the time step, B and C, and some with attention without rotations; in some
// layers experts replace the ffn.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kJambaHfClasses[] = {"JambaForCausalLM"};

constexpr auto kJambaTensors = joined(
    kEmbed, kHead, with_hf(kFinalNorm, "model.final_layernorm.weight"), kAttention, kMamba2In, kMamba2Conv,
    required(kMamba2ConvBias),
    whole(Role::kSsmX, kRequired, Dim::kSsmX, Dim::kSsmInner, "blk.{}.ssm_x.weight",
          "model.layers.{}.mamba.x_proj.weight"),
    vector(Role::kSsmDtNorm, Dim::kSsmDtRank, "blk.{}.ssm_dt_norm.weight", "model.layers.{}.mamba.dt_layernorm.weight"),
    vector(Role::kSsmBNorm, Dim::kSsmState, "blk.{}.ssm_b_norm.weight", "model.layers.{}.mamba.b_layernorm.weight"),
    vector(Role::kSsmCNorm, Dim::kSsmState, "blk.{}.ssm_c_norm.weight", "model.layers.{}.mamba.c_layernorm.weight"),
    whole(Role::kSsmDt, kRequired, Dim::kSsmInner, Dim::kSsmDtRank, "blk.{}.ssm_dt.weight",
          "model.layers.{}.mamba.dt_proj.weight"),
    vector(Role::kSsmDtBias, Dim::kSsmInner, "blk.{}.ssm_dt.bias", "model.layers.{}.mamba.dt_proj.bias"),
    whole(Role::kSsmA, kRequired, Dim::kSsmInner, Dim::kSsmState, "blk.{}.ssm_a", "model.layers.{}.mamba.A_log"),
    vector(Role::kSsmD, Dim::kSsmInner, "blk.{}.ssm_d", "model.layers.{}.mamba.D"), kMamba2Out,
    with_hf(kFfnNorm, "model.layers.{}.pre_ff_layernorm.weight"),
    with_hf(kWGate, "model.layers.{}.feed_forward.gate_proj.weight"),
    with_hf(kWUp, "model.layers.{}.feed_forward.up_proj.weight"),
    with_hf(kWDown, "model.layers.{}.feed_forward.down_proj.weight"),
    optional(with_hf(kRouter, "model.layers.{}.feed_forward.router.weight")),
    with_hf(kExpertGate, "model.layers.{}.feed_forward.experts.{}.gate_proj.weight"),
    with_hf(kExpertUp, "model.layers.{}.feed_forward.experts.{}.up_proj.weight"),
    with_hf(kExpertDown, "model.layers.{}.feed_forward.experts.{}.down_proj.weight"));

constexpr HfFlag kJambaHfFlags[] = {{"mamba_proj_bias", false}, {"mamba_conv_bias", true}};

}  // namespace

const ArchSpec kJamba{
    .name = "jamba",
    .hf_classes = kJambaHfClasses,
    .tensors = kJambaTensors,
    .recurrent = MixerKind::kMamba,
    .nope_interval = 1,
    .moe = MoeRule::kIfConfigured,
    .hf_flags = kJambaHfFlags,
    .routing = {.renormalize = false},
    .hf_keys = {.n_experts = "num_experts"},
    .hf_ssm_keys = {
        .d_state = "mamba_d_state", .n_taps = "mamba_d_conv", .dt_rank = "mamba_dt_rank", .expand = "mamba_expand"}};

}  // namespace realizar
