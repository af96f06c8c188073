// Nemotron-H: each layer is Mamba 2, attention without rotations, or an ffn with squared ReLU. In some models the ffns
// are experts chosen by sigmoids, and one shared; in Nemotron 3 Super experts read a latent.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/try.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

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

constexpr std::string_view kNemotronHPattern = "hybrid_override_pattern", kNemotronHKinds = "layers_block_type";

// Mixers by config.json's pattern, a letter for each layer, or by its list of kinds.
Result<std::vector<MixerKind>> read_hf_branches(const ConfigKeys& keys, uint32_t n_layers) {
  struct Named {
    char letter;
    std::string_view name, older_name;
    MixerKind kind;
  };
  static constexpr Named kNames[] = {{'M', "linear_attention", "mamba", MixerKind::kMamba2},
                                     {'*', "full_attention", "attention", MixerKind::kAttention},
                                     {'-', "mlp", "mlp", MixerKind::kNone},
                                     {'E', "moe", "moe", MixerKind::kNone}};
  RZ_TRY(const auto pattern, keys.file().metadata().get_string(kNemotronHPattern));
  RZ_TRY(const auto list, keys.file().metadata().get_strings(kNemotronHKinds));
  const size_t n_given = pattern ? pattern->size() : list ? list->size() : 0;
  const std::string key(pattern ? kNemotronHPattern : kNemotronHKinds);
  if (n_given != n_layers) {
    return out_of_range(keys.file(), key, fmt::format("{} entries", n_layers), std::to_string(n_given));
  }
  std::vector<MixerKind> kinds;
  for (uint32_t i = 0; i < n_layers; ++i) {
    const std::string_view given = pattern ? std::string_view(*pattern).substr(i, 1) : std::string_view((*list)[i]);
    const auto found = std::ranges::find_if(kNames, [&](const Named& one) {
      return pattern ? given.front() == one.letter : given == one.name || given == one.older_name;
    });
    if (found == std::end(kNames)) {
      return unsupported(fmt::format("{}: {}: '{}' is not supported for {}", keys.file().path().string(), key, given,
                                     keys.spec().name),
                         key);
    }
    kinds.push_back(found->kind);
  }
  return kinds;
}

// GGUF lists the widths of ffns and the KV heads, with 0 for layers without them.
Result<std::vector<MixerKind>> read_gguf_branches(const ConfigKeys& keys, uint32_t n_layers) {
  RZ_TRY(const auto widths, keys.layer_ints("feed_forward_length", "", n_layers, 0, kMaxWidth));
  RZ_TRY(const auto n_kv_heads, keys.layer_ints("attention.head_count_kv", "", n_layers, 0, kMaxHeads));
  std::vector<MixerKind> kinds(n_layers, MixerKind::kAttention);
  for (uint32_t i = 0; i < n_layers; ++i) {
    if (n_kv_heads && (*n_kv_heads)[i] == 0) kinds[i] = MixerKind::kMamba2;
    if (widths && (*widths)[i] > 0) kinds[i] = MixerKind::kNone;
  }
  return kinds;
}

// A layer either mixes or has an ffn.
Status adjust_nemotron_h(const ConfigKeys& keys, ModelConfig& c) {
  RZ_TRY(const auto kinds, keys.is_gguf() ? read_gguf_branches(keys, c.n_layers) : read_hf_branches(keys, c.n_layers));
  c.ropes.clear();
  std::map<MixerKind, MixerConfig> mixers{{MixerKind::kNone, NoMixerConfig{}}};
  if (std::ranges::count(kinds, MixerKind::kMamba2) > 0) {
    RZ_TRY(mixers[MixerKind::kMamba2], read_mamba2(keys));
  }
  if (std::ranges::count(kinds, MixerKind::kAttention) > 0) {
    RZ_TRY(mixers[MixerKind::kAttention], read_attention(keys, c));
  }
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    c.layers[i].mixer = mixers[kinds[i]];
    if (kinds[i] != MixerKind::kNone) c.layers[i].ffn = NoFfnConfig{};
  }
  return {};
}

void tell_nemotron_h(const ModelConfig& c, KeyTeller& keys) {
  std::string pattern;
  for (const LayerConfig& layer : c.layers) {
    const bool is_ffn = std::holds_alternative<NoMixerConfig>(layer.mixer);
    const bool has_experts = std::holds_alternative<ExpertsConfig>(layer.ffn);
    pattern += is_ffn ? (has_experts ? 'E' : '-') : std::holds_alternative<AttentionConfig>(layer.mixer) ? '*' : 'M';
  }
  keys.set("", kNemotronHPattern, std::move(pattern));
}

constexpr ArchSpec kNemotronHRow{.name = "nemotron_h",
                                 .hf_classes = kNemotronHHfClasses,
                                 .tensors = kNemotronHTensors,
                                 .norm_place = NormPlace::kParallel,
                                 .recurrent = MixerKind::kMamba2,
                                 .ffn = FfnKind::kPlain,
                                 .activation = Activation::kReluSquared,
                                 .nope_interval = 1,
                                 .moe = MoeRule::kIfConfigured,
                                 .defaults = kNemotronHDefaults,
                                 .hf_flags = kNemotronHHfFlags,
                                 .hf_left_out = "mtp.",
                                 .routing = {.score = RouteScore::kSigmoid, .hf_renormalize = true},
                                 .hf_keys = kNemotronHHfKeys,
                                 .hf_ssm_keys = kNemotronHHfSsmKeys,
                                 .adjust = adjust_nemotron_h,
                                 .tell = tell_nemotron_h};

// Only for GGUF: folders of both kinds have the same class.
constexpr ArchSpec nemotron_h_moe() {
  ArchSpec spec = kNemotronHRow;
  spec.name = "nemotron_h_moe";
  spec.hf_classes = {};
  spec.tensors = kNemotronHMoeTensors;
  spec.moe = MoeRule::kAlways;
  spec.routing.renormalize = false;
  return spec;
}

}  // namespace

const ArchSpec kNemotronH = kNemotronHRow;
const ArchSpec kNemotronHMoe = nemotron_h_moe();

}  // namespace realizar
