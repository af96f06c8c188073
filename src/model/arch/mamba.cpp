// Mamba and Falcon Mamba, which normalizes the time step, B and C: layers with a state space and no ffn.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMambaHfClasses[] = {"MambaForCausalLM", "FalconMambaForCausalLM"};

constexpr auto kMambaTensors = joined(
    with_hf(kEmbed, "backbone.embeddings.weight"), kHead, with_hf(kFinalNorm, "backbone.norm_f.weight"),
    with_hf(kAttnNorm, "backbone.layers.{}.norm.weight"), with_hf(kMamba2In, "backbone.layers.{}.mixer.in_proj.weight"),
    with_hf(kMamba2Conv, "backbone.layers.{}.mixer.conv1d.weight"),
    required(with_hf(kMamba2ConvBias, "backbone.layers.{}.mixer.conv1d.bias")),
    whole(Role::kSsmX, kRequired, Dim::kSsmX, Dim::kSsmInner, "blk.{}.ssm_x.weight",
          "backbone.layers.{}.mixer.x_proj.weight"),
    whole(Role::kSsmDt, kRequired, Dim::kSsmInner, Dim::kSsmDtRank, "blk.{}.ssm_dt.weight",
          "backbone.layers.{}.mixer.dt_proj.weight"),
    vector(Role::kSsmDtBias, Dim::kSsmInner, "blk.{}.ssm_dt.bias", "backbone.layers.{}.mixer.dt_proj.bias"),
    whole(Role::kSsmA, kRequired, Dim::kSsmInner, Dim::kSsmState, "blk.{}.ssm_a", "backbone.layers.{}.mixer.A_log"),
    vector(Role::kSsmD, Dim::kSsmInner, "blk.{}.ssm_d", "backbone.layers.{}.mixer.D"),
    with_hf(kMamba2Out, "backbone.layers.{}.mixer.out_proj.weight"));

constexpr HfFlag kMambaHfFlags[] = {{"use_bias", false}, {"use_conv_bias", true}};

}  // namespace

const ArchSpec kMamba{
    .name = "mamba",
    .hf_classes = kMambaHfClasses,
    .tensors = kMambaTensors,
    .mixer = MixerKind::kMamba,
    .ffn = FfnKind::kNone,
    .hf_n_ctx = 1 << 20,
    .hf_flags = kMambaHfFlags,
    .hf_keys = {.norm_eps = "layer_norm_epsilon"},
    .hf_ssm_keys = {
        .d_state = "state_size", .n_taps = "conv_kernel", .n_inner = "intermediate_size", .dt_rank = "time_step_rank"}};

}  // namespace realizar
