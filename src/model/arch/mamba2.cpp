// Mamba 2 and Mamba-Codestral: layers of a state space each, and no ffn.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMamba2HfClasses[] = {"Mamba2ForCausalLM"};

constexpr auto kMamba2Tensors = std::to_array<TensorSpec>({
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
    whole(Role::kSsmDtBias, kRequired, Dim::kSsmHeads, Dim::kNone, "blk.{}.ssm_dt.bias",
          "backbone.layers.{}.mixer.dt_bias"),
    whole(Role::kSsmA, kRequired, Dim::kSsmHeads, Dim::kOne, "blk.{}.ssm_a", "backbone.layers.{}.mixer.A_log"),
    whole(Role::kSsmD, kRequired, Dim::kSsmHeads, Dim::kOne, "blk.{}.ssm_d", "backbone.layers.{}.mixer.D"),
    whole(Role::kSsmNorm, kRequired, Dim::kSsmGroups, Dim::kSsmGroup, "blk.{}.ssm_norm.weight", ""),
    whole(Role::kSsmNorm, kRequired, Dim::kSsmInner, Dim::kNone, "", "backbone.layers.{}.mixer.norm.weight"),
    whole(Role::kSsmOut, kRequired, Dim::kModel, Dim::kSsmInner, "blk.{}.ssm_out.weight",
          "backbone.layers.{}.mixer.out_proj.weight"),
});

constexpr HfFlag kMamba2HfFlags[] = {{"use_bias", false}, {"use_conv_bias", true}, {"rms_norm", true}};

}  // namespace

const ArchSpec kMamba2{.name = "mamba2",
                       .hf_classes = kMamba2HfClasses,
                       .tensors = kMamba2Tensors,
                       .mixer = MixerKind::kMamba2,
                       .ffn = FfnKind::kNone,
                       .hf_n_ctx = 1 << 20,
                       .hf_flags = kMamba2HfFlags,
                       .hf_keys = {.norm_eps = "layer_norm_epsilon"},
                       .hf_ssm_keys = {.n_heads = "num_heads",
                                       .head_dim = "head_dim",
                                       .n_groups = "n_groups",
                                       .d_state = "state_size",
                                       .n_taps = "conv_kernel"}};

}  // namespace realizar
