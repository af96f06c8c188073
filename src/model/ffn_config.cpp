// Reads the configs of ffns: gated, plain or experts.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

// GGUF has no key for it: there it is the architecture's.
Result<Activation> read_activation(const ConfigKeys& keys) {
  if (keys.is_gguf()) return keys.spec().activation;
  const std::string_view key = keys.spec().hf_keys.activation;
  const Activation fallback = keys.spec().hf_keys.default_activation.value_or(keys.spec().activation);
  if (key.empty()) return fallback;
  RZ_TRY(const auto given, keys.file().metadata().get_string(key));
  if (!given) return fallback;
  struct Named {
    std::string_view name;
    Activation activation;
  };
  static constexpr Named kNames[] = {
      {"silu", Activation::kSilu},     {"swish", Activation::kSilu},        {"gelu", Activation::kGeluErf},
      {"gelu_new", Activation::kGelu}, {"gelu_fast", Activation::kGelu},    {"gelu_pytorch_tanh", Activation::kGelu},
      {"relu", Activation::kRelu},     {"relu2", Activation::kReluSquared}, {"sqrelu", Activation::kReluSquared}};
  for (const Named& named : kNames) {
    if (named.name == *given) return named.activation;
  }
  return unsupported(fmt::format("{}: {}: activation '{}' is not supported for {}", keys.file().path().string(),
                                 keys.spec().hf_keys.activation, *given, keys.spec().name));
}

// Whether any layer has a bias for choosing experts.
bool has_choice_bias(const ConfigKeys& keys) {
  return std::ranges::any_of(keys.spec().tensors, [&](const TensorSpec& spec) {
    if (spec.role != Role::kChoiceBias || spec.hf.empty()) return false;
    const std::string_view end = spec.hf.substr(spec.hf.rfind('}') + 1);
    return std::ranges::any_of(keys.file().tensors(), [&](const TensorInfo& t) { return t.name.ends_with(end); });
  });
}

// config.json's name of the scores. dots.llm1 calls sigmoids "noaux_tc"; a folder without the key but with biases for
// choosing experts uses sigmoids, as DeepSeek-V3 does.
Status read_hf_score(const ConfigKeys& keys, ExpertsConfig& experts) {
  const std::string key(keys.spec().hf_keys.score);
  RZ_TRY(const auto name, keys.file().metadata().get_string(key));
  if (!name) {
    if (!key.empty() && has_choice_bias(keys)) experts.score = RouteScore::kSigmoid;
    return {};
  }
  const bool is_sigmoid = *name == "sigmoid" || *name == "noaux_tc";
  if (*name != "softmax" && !is_sigmoid) {
    return unsupported(fmt::format("{}: {} = '{}' is not supported", keys.file().path().string(), key, *name), key);
  }
  experts.score = is_sigmoid ? RouteScore::kSigmoid : RouteScore::kSoftmax;
  return {};
}

// llama.cpp's numbers of score functions. 3 is a softmax over the chosen experts, which equals a renormalized softmax
// over all.
Status read_score(const ConfigKeys& keys, ExpertsConfig& experts) {
  if (!keys.is_gguf()) return read_hf_score(keys, experts);
  const std::string key = keys.key("expert_gating_func", "");
  RZ_TRY(const auto number, keys.file().metadata().get_int(key));
  if (number.value_or(0) == 0) return {};
  if (*number < 0 || *number > 3) {
    return unsupported(fmt::format("{}: {} = {} is not supported", keys.file().path().string(), key, *number), key);
  }
  experts.score = *number == 2 ? RouteScore::kSigmoid : RouteScore::kSoftmax;
  if (*number == 3) experts.renormalize = true;
  return {};
}

// DeepSeek's folders name the rule: V2 ranks groups by their best expert, V3 by their best two; "greedy" has no groups.
Result<uint32_t> read_group_best(const ConfigKeys& keys) {
  constexpr std::string_view kKey = "topk_method";
  std::optional<std::string> method;
  if (!keys.is_gguf()) {
    RZ_TRY(method, keys.file().metadata().get_string(kKey));
  }
  if (!method) return 2u;
  if (*method == "greedy") return 0u;
  if (*method == "group_limited_greedy") return 1u;
  if (*method == "noaux_tc") return 2u;
  return unsupported(fmt::format("{}: {} = '{}' is not supported", keys.file().path().string(), kKey, *method),
                     std::string(kKey));
}

Status read_groups(const ConfigKeys& keys, ExpertsConfig& experts) {
  RZ_TRY(const uint32_t n_group_best, read_group_best(keys));
  if (n_group_best == 0) return {};
  RZ_TRY(const auto n_groups, keys.optional_int("expert_group_count", "n_group", 0, experts.n_experts));
  if (n_groups.value_or(0) <= 1) return {};
  RZ_TRY(const uint32_t n_used, keys.required_int("expert_group_used_count", "topk_group", 1, *n_groups));
  const uint32_t size = experts.n_experts / *n_groups;
  if (experts.n_experts % *n_groups != 0 || n_used * size < experts.n_used) {
    return out_of_range(keys.file(), keys.key("expert_group_count", "n_group"),
                        fmt::format("a divisor of {} experts such that {} groups have at least {} experts",
                                    experts.n_experts, n_used, experts.n_used),
                        std::to_string(*n_groups));
  }
  experts.n_groups = *n_groups;
  experts.n_used_groups = n_used;
  experts.n_group_best = n_group_best;
  return {};
}

// Shared experts are computed as one, with the sum of their widths.
Status read_shared(const ConfigKeys& keys, const ModelConfig& c, ExpertsConfig& experts) {
  const ArchSpec& spec = keys.spec();
  RZ_TRY(auto n_shared, keys.optional_int("expert_shared_count", spec.hf_keys.n_shared, 0, kMaxExperts));
  if (!knows_role(spec, Role::kSharedUp)) {
    if (n_shared.value_or(0) == 0) return {};
    return unsupported(fmt::format("{}: {} shared experts are not supported for {}", keys.file().path().string(),
                                   *n_shared, spec.name),
                       keys.key("expert_shared_count", spec.hf_keys.n_shared));
  }
  RZ_TRY(const auto d_ff,
         keys.optional_int("expert_shared_feed_forward_length", spec.hf_keys.shared_d_ff, 0, kMaxWidth));
  if (!n_shared && !d_ff && spec.routing.n_shared > 0) n_shared = spec.routing.n_shared;
  // A file with neither their width nor their number has one as wide as a dense ffn, or none.
  const uint32_t fallback = is_optional(spec, Role::kSharedUp) || d_ff ? 0 : c.d_ff;
  uint64_t width = d_ff.value_or(0);
  if (width > 0 && keys.is_gguf() && spec.routing.gguf_shared_width_is_of_one) width *= n_shared.value_or(1);
  const bool lacks_shared = is_optional(spec, Role::kSharedUp) && !has_role(keys, Role::kSharedUp);
  if (spec.routing.is_dense_shared && !lacks_shared) width = c.d_ff;
  if (spec.routing.is_shared_of_model_width) width = c.d_model;
  if (width == 0) width = n_shared ? uint64_t{*n_shared} * experts.d_ff : fallback;
  experts.has_shared_router = knows_role(spec, Role::kSharedRouter);
  experts.d_shared_ff = static_cast<uint32_t>(std::min<uint64_t>(width, kMaxWidth));
  if (width <= kMaxWidth) return {};
  return out_of_range(keys.file(), keys.key("expert_shared_count", spec.hf_keys.n_shared),
                      fmt::format("shared experts with a total width of up to {}", kMaxWidth), std::to_string(width));
}

Status read_renormalize(const ConfigKeys& keys, ExpertsConfig& experts) {
  const std::string_view hf = keys.spec().hf_keys.renormalize;
  if (!keys.is_gguf() && hf.empty()) return {};
  RZ_TRY(const auto given, keys.file().metadata().get_bool(keys.key("expert_weights_norm", hf)));
  const Routing& routing = keys.spec().routing;
  experts.renormalize = given.value_or(keys.is_gguf() ? routing.renormalize : routing.hf_renormalize);
  return {};
}

// Refuses dense layers among those with experts, as declared by Qwen's and DeepSeek's folders.
Status refuse_sparse_step(const ConfigKeys& keys) {
  if (keys.is_gguf()) return {};
  RZ_TRY(const auto step, keys.file().metadata().get_int("decoder_sparse_step"));
  RZ_TRY(const auto frequency, keys.file().metadata().get_int("moe_layer_freq"));
  RZ_TRY(const auto dense_layers, keys.file().metadata().get_ints("mlp_only_layers"));
  if (step.value_or(1) == 1 && frequency.value_or(1) == 1 && (!dense_layers || dense_layers->empty())) return {};
  return unsupported(
      "dense layers among those with experts (decoder_sparse_step, moe_layer_freq, mlp_only_layers) are not supported");
}

// Layers with experts: listed, by their tensors, or at an interval after the leading dense layers.
Result<std::vector<bool>> read_expert_layers(const ConfigKeys& keys, uint32_t n_layers) {
  const ArchSpec& spec = keys.spec();
  if (is_optional(spec, Role::kRouter)) {
    std::vector<bool> has_router(n_layers);
    for (uint32_t i = 0; i < n_layers; ++i) has_router[i] = has_role(keys, Role::kRouter, i);
    return has_router;
  }
  uint32_t n_dense = 0, interval = 1;
  if (spec.has_leading_dense()) {
    RZ_TRY(const auto given, keys.optional_int("leading_dense_block_count", spec.hf_keys.n_leading_dense, 0, n_layers));
    n_dense = given.value_or(0);
  }
  if (spec.has_expert_interval()) {
    RZ_TRY(const auto given,
           keys.optional_int("interleave_moe_layer_step", spec.hf_keys.expert_interval, 1, kMaxLayers));
    interval = given.value_or(1);
  }
  std::vector<bool> has_experts(n_layers);
  if (!keys.is_gguf() && !spec.hf_keys.expert_layers.empty()) {
    RZ_TRY(const auto listed, keys.file().metadata().get_ints(spec.hf_keys.expert_layers));
    for (const int64_t layer : listed.value_or(std::vector<int64_t>())) {
      if (layer < 0 || layer >= n_layers) {
        return out_of_range(keys.file(), spec.hf_keys.expert_layers, fmt::format("layers below {}", n_layers),
                            std::to_string(layer));
      }
      has_experts[static_cast<size_t>(layer)] = true;
    }
    if (listed && !listed->empty()) return has_experts;
  }
  std::optional<int64_t> last;
  if (!keys.is_gguf() && !spec.hf_keys.last_expert_layer.empty()) {
    RZ_TRY(last, keys.file().metadata().get_int(spec.hf_keys.last_expert_layer));
  }
  const int64_t end = last.value_or(-1) < 0 ? n_layers : *last + 1;
  for (uint32_t i = 0; i < n_layers; ++i) has_experts[i] = i >= n_dense && i < end && (i + 1) % interval == 0;
  return has_experts;
}

// A number that must be the same in all layers, given once or as a list.
Result<std::optional<uint32_t>> read_same_in_all(const ConfigKeys& keys, const ModelConfig& c, std::string_view gguf,
                                                 std::string_view hf, int64_t max) {
  if (!keys.is_list(gguf, hf)) return keys.optional_int(gguf, hf, 1, max);
  RZ_TRY(const auto numbers, keys.layer_ints(gguf, hf, c.n_layers, 1, max));
  if (!numbers || numbers->empty()) return std::optional<uint32_t>();
  const auto [least, most] = std::ranges::minmax(*numbers);
  if (least == most) return std::optional(most);
  return unsupported(fmt::format("{}: {}: {} and {} in one model are not supported", keys.file().path().string(),
                                 keys.key(gguf, hf), least, most),
                     keys.key(gguf, hf));
}

Result<ExpertsConfig> read_experts(const ConfigKeys& keys, const ModelConfig& c, uint32_t n_experts) {
  const ArchSpec& spec = keys.spec();
  RZ_TRY(const Activation activation, read_activation(keys));
  ExpertsConfig experts{.n_experts = n_experts,
                        .renormalize = spec.routing.renormalize,
                        .activation = spec.routing.activation.value_or(activation),
                        .score = spec.routing.score,
                        .has_biases = knows_role(spec, Role::kExpertDownBias),
                        .has_gates = knows_role(spec, Role::kExpertGate) || knows_role(spec, Role::kExpertGateUp),
                        .input = spec.routing.input};
  const bool is_a_gate = experts.activation == Activation::kReluSquared || experts.activation == Activation::kGeluErf;
  if (!experts.has_gates && !is_a_gate) {
    return unsupported(fmt::format("{}: experts without gates are only supported with the activations relu2 and gelu",
                                   keys.file().path().string()),
                       std::string(spec.hf_keys.activation));
  }
  if (!keys.is_gguf()) experts.gate_up_rows = spec.hf_gate_up_rows();
  const std::string_view n_used_key = spec.hf_keys.n_experts_used;
  RZ_TRY(const auto n_used, read_same_in_all(keys, c, "expert_used_count", n_used_key, n_experts));
  if (!n_used) {
    return out_of_range(keys.file(), keys.key("expert_used_count", n_used_key), "a whole number", "nothing");
  }
  experts.n_used = *n_used;
  RZ_TRY(const auto d_ff, read_same_in_all(keys, c, "expert_feed_forward_length", spec.hf_keys.expert_d_ff, kMaxWidth));
  experts.d_ff = d_ff.value_or(c.d_ff);
  RZ_CHECK_OK(refuse_sparse_step(keys));
  RZ_CHECK_OK(read_renormalize(keys, experts));
  RZ_CHECK_OK(read_score(keys, experts));
  const std::string scale_key = keys.key("expert_weights_scale", spec.hf_keys.routed_scale);
  RZ_TRY(const auto scale, keys.file().metadata().get_double(scale_key));
  if (scale.value_or(0) != 0) experts.scale = static_cast<float>(*scale);  // llama.cpp: 0 means not set
  RZ_CHECK_OK(read_groups(keys, experts));
  RZ_CHECK_OK(read_shared(keys, c, experts));
  if (knows_role(spec, Role::kExpertLatentUp)) {
    RZ_TRY(const auto d_latent, keys.optional_int("moe_latent_size", "moe_latent_size", 0, kMaxWidth));
    experts.d_latent = d_latent.value_or(0);
  }
  return experts;
}

Result<FfnConfig> read_channel_mix(const ConfigKeys& keys, const ModelConfig& c, Activation activation) {
  if (activation == Activation::kReluSquared) return FfnConfig(ChannelMixConfig{c.d_ff});
  return unsupported(fmt::format("{}: {}: activation '{}' is not supported for {}", keys.file().path().string(),
                                 keys.spec().hf_keys.activation, name_of(activation), keys.spec().name));
}

Result<FfnConfig> read_dense_ffn(const ConfigKeys& keys, const ModelConfig& c) {
  RZ_TRY(const Activation activation, read_activation(keys));
  if (keys.spec().ffn == FfnKind::kChannelMix) return read_channel_mix(keys, c, activation);
  if (keys.spec().ffn == FfnKind::kPlain) return FfnConfig(PlainConfig{c.d_ff, activation});
  return FfnConfig(GatedConfig{.d_ff = c.d_ff, .activation = activation});
}

// Gated ffns may be of different widths.
Status read_unlike_widths(const ConfigKeys& keys, std::vector<FfnConfig>& ffns) {
  const std::string_view hf = keys.spec().hf_keys.d_ff;
  if (!keys.is_list("feed_forward_length", hf)) return {};
  const auto n_layers = static_cast<uint32_t>(ffns.size());
  const int64_t least = keys.spec().may_lack_ffns() ? 0 : 1;
  RZ_TRY(const auto widths, keys.layer_ints("feed_forward_length", hf, n_layers, least, kMaxWidth));
  for (uint32_t i = 0; widths && i < n_layers; ++i) {
    if (auto* gated = std::get_if<GatedConfig>(&ffns[i])) gated->d_ff = (*widths)[i];
  }
  return {};
}

}  // namespace

Result<uint32_t> read_n_experts(const ConfigKeys& keys) {
  if (keys.spec().moe == MoeRule::kNone) return 0u;
  RZ_TRY(const auto n_experts, keys.optional_int("expert_count", keys.spec().hf_keys.n_experts, 0, kMaxExperts));
  return n_experts.value_or(0);
}

Result<std::vector<FfnConfig>> read_ffns(const ConfigKeys& keys, const ModelConfig& c) {
  const ArchSpec& spec = keys.spec();
  if (spec.ffn == FfnKind::kNone) return std::vector<FfnConfig>(c.n_layers, NoFfnConfig{});
  RZ_TRY(const FfnConfig dense, read_dense_ffn(keys, c));
  std::vector<FfnConfig> ffns(c.n_layers, dense);
  RZ_CHECK_OK(read_unlike_widths(keys, ffns));
  if (spec.moe == MoeRule::kNone) return ffns;
  RZ_TRY(const uint32_t n_experts, read_n_experts(keys));
  if (n_experts == 0) {
    if (spec.moe == MoeRule::kIfConfigured) return ffns;
    return out_of_range(keys.file(), keys.key("expert_count", spec.hf_keys.n_experts), "1 or more", "nothing");
  }
  RZ_TRY(const auto has_experts, read_expert_layers(keys, c.n_layers));
  if (std::ranges::none_of(has_experts, std::identity())) return ffns;
  RZ_TRY(const ExpertsConfig experts, read_experts(keys, c, n_experts));
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    if (has_experts[i]) ffns[i] = experts;
  }
  return ffns;
}

}  // namespace realizar
