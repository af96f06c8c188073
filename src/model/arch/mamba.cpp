// Mamba and Falcon Mamba, which normalizes what the scan reads beside its input: layers of a state space each, and no
// ffn.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMambaHfClasses[] = {"MambaForCausalLM", "FalconMambaForCausalLM"};

constexpr auto kMambaTensors = std::to_array<TensorSpec>({
    {Role::kEmbed, kRequired, Shard::kRows, Dim::kVocab, Dim::kModel, "token_embd.weight",
     "backbone.embeddings.weight"},
    kHead,
    norm(Role::kFinalNorm, kRequired, "output_norm.weight", "backbone.norm_f.weight"),
    norm(Role::kAttnNorm, kRequired, "blk.{}.attn_norm.weight", "backbone.layers.{}.norm.weight"),
    whole(Role::kSsmIn, kRequired, Dim::kSsmIn, Dim::kModel, "blk.{}.ssm_in.weight",
          "backbone.layers.{}.mixer.in_proj.weight"),
    whole(Role::kSsmConv, kRequired, Dim::kSsmConv, Dim::kTaps, "blk.{}.ssm_conv1d.weight",
          "backbone.layers.{}.mixer.conv1d.weight"),
    whole(Role::kSsmConvBias, kRequired, Dim::kSsmConv, Dim::kNone, "blk.{}.ssm_conv1d.bias",
          "backbone.layers.{}.mixer.conv1d.bias"),
    whole(Role::kSsmX, kRequired, Dim::kSsmX, Dim::kSsmInner, "blk.{}.ssm_x.weight",
          "backbone.layers.{}.mixer.x_proj.weight"),
    whole(Role::kSsmDt, kRequired, Dim::kSsmInner, Dim::kSsmDtRank, "blk.{}.ssm_dt.weight",
          "backbone.layers.{}.mixer.dt_proj.weight"),
    whole(Role::kSsmDtBias, kRequired, Dim::kSsmInner, Dim::kNone, "blk.{}.ssm_dt.bias",
          "backbone.layers.{}.mixer.dt_proj.bias"),
    whole(Role::kSsmA, kRequired, Dim::kSsmInner, Dim::kSsmState, "blk.{}.ssm_a", "backbone.layers.{}.mixer.A_log"),
    whole(Role::kSsmD, kRequired, Dim::kSsmInner, Dim::kNone, "blk.{}.ssm_d", "backbone.layers.{}.mixer.D"),
    whole(Role::kSsmOut, kRequired, Dim::kModel, Dim::kSsmInner, "blk.{}.ssm_out.weight",
          "backbone.layers.{}.mixer.out_proj.weight"),
});

constexpr HfFlag kMambaHfFlags[] = {{"use_bias", false}, {"use_conv_bias", true}};

}  // namespace

const ArchSpec kMamba{.name = "mamba",
                      .hf_classes = kMambaHfClasses,
                      .tensors = kMambaTensors,
                      .mixer = MixerKind::kMamba,
                      .ffn = FfnKind::kNone,
                      .hf_n_ctx = 1 << 20,
                      .hf_flags = kMambaHfFlags,
                      .hf_keys = {.norm_eps = "layer_norm_epsilon"},
                      .hf_ssm_keys = {.d_state = "state_size",
                                      .n_taps = "conv_kernel",
                                      .n_inner = "intermediate_size",
                                      .dt_rank = "time_step_rank",
                                      .unit_norms_type = "falcon_mamba",
                                      .unit_norms_eps = "mixer_rms_eps"}};

}  // namespace realizar
