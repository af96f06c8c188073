// Mamba 2 and Mamba-Codestral: layers with a state space and no ffn.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMamba2HfClasses[] = {"Mamba2ForCausalLM"};

constexpr auto kMamba2Tensors = joined(
    with_hf(kEmbed, "backbone.embeddings.weight"), kHead, with_hf(kFinalNorm, "backbone.norm_f.weight"),
    with_hf(kAttnNorm, "backbone.layers.{}.norm.weight"), with_hf(kMamba2In, "backbone.layers.{}.mixer.in_proj.weight"),
    with_hf(kMamba2Conv, "backbone.layers.{}.mixer.conv1d.weight"),
    required(with_hf(kMamba2ConvBias, "backbone.layers.{}.mixer.conv1d.bias")),
    with_hf(kMamba2DtBias, "backbone.layers.{}.mixer.dt_bias"), with_hf(kMamba2A, "backbone.layers.{}.mixer.A_log"),
    with_hf(kMamba2D, "backbone.layers.{}.mixer.D"), kMamba2Norm,
    with_hf(kHfMamba2Norm, "backbone.layers.{}.mixer.norm.weight"),
    with_hf(kMamba2Out, "backbone.layers.{}.mixer.out_proj.weight"));

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
