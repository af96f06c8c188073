#include "tools/gguf_config.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "model/config_reader.h"
#include "model/tensor_roles.h"
#include "tools/tensor_parts.h"

namespace realizar {
namespace {

// llama.cpp's numbers.
constexpr uint32_t kSoftmaxGate = 1, kSigmoidGate = 2;
constexpr uint32_t kPoolMean = 1, kPoolFirst = 2, kPoolLast = 3, kPoolRank = 4;

// One number if all layers are alike, else a list.
GgufValue one_or_list(const std::vector<uint32_t>& numbers) {
  const bool are_alike = std::ranges::all_of(numbers, [&](uint32_t n) { return n == numbers.front(); });
  if (are_alike) return numbers.front();
  return std::vector<int32_t>(numbers.begin(), numbers.end());
}

GgufValue as_gguf(const MetaValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<uint64_t>(&value)) return static_cast<uint32_t>(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const auto& array = std::get<MetaArray>(value);
  if (const auto* whole = std::get_if<std::vector<int64_t>>(&array)) {
    return one_or_list({whole->begin(), whole->end()});
  }
  const auto& numbers = std::get<std::vector<double>>(array);
  return std::vector<float>(numbers.begin(), numbers.end());
}

// Families for which llama.cpp requires both epsilons, though only one of them is used.
constexpr std::string_view kBothEpsilons[] = {"nemotron_h", "nemotron_h_moe"};

template <class Kind, class... Kinds>
constexpr bool is_one_of(const std::variant<Kinds...>*) {
  return (std::is_same_v<Kind, Kinds> || ...);
}

class ConfigWriter final : private KeyTeller {
 public:
  // `source`: the table's row for the folder; `spec`: the one for the file.
  ConfigWriter(const ModelFile& folder, const ArchSpec& source, const ArchSpec& spec, const ModelConfig& config,
               GgufKeys& keys)
      : folder_(folder), source_(source), spec_(spec), c_(config), keys_(keys) {}

  void add() {
    add_dimensions();
    add_widths();
    if (!attentions().empty()) add_attention(*attentions().front());
    if (const auto* latent = first<LatentAttentionConfig>()) add_latent_attention(*latent);
    if (attentions().empty() && first<LatentAttentionConfig>() == nullptr) set("attention.head_count", uint32_t{0});
    add_recurrent();
    add_kinds();
    if (const auto* experts = first<ExpertsConfig>()) add_experts(*experts);
    add_scales();
    add_pooling();
    add_extras();
  }

 private:
  void set(std::string_view name, GgufValue value) {
    keys_.set(std::string(spec_.name) + "." + std::string(name), std::move(value));
  }
  bool is_asked(std::span<const std::string_view> families) const {
    return std::ranges::find(families, spec_.name) != families.end();
  }
  bool is_given(std::string_view key) const { return !key.empty() && folder_.metadata().contains(key); }

  template <class Kind>
  static const Kind* kind_of(const LayerConfig& layer) {
    if constexpr (is_one_of<Kind>(static_cast<const MixerConfig*>(nullptr))) {
      return std::get_if<Kind>(&layer.mixer);
    } else {
      return std::get_if<Kind>(&layer.ffn);
    }
  }
  template <class Kind>
  const Kind* first() const {
    for (const LayerConfig& layer : c_.layers) {
      if (const Kind* own = kind_of<Kind>(layer)) return own;
    }
    return nullptr;
  }
  // The config of a layer of the file, which may correspond to several here; null if it has none of this kind.
  template <class Kind>
  const Kind* in_layer(uint32_t file_layer) const {
    for (uint32_t i = 0; i < c_.n_layers_each; ++i) {
      if (const Kind* own = kind_of<Kind>(c_.layers[file_layer * c_.n_layers_each + i])) return own;
    }
    return nullptr;
  }
  template <class Kind>
  std::vector<uint32_t> by_layer(const std::function<uint32_t(const Kind&)>& number) const {
    std::vector<uint32_t> numbers;
    for (uint32_t layer = 0; layer < n_file_layers(c_); ++layer) {
      const Kind* own = in_layer<Kind>(layer);
      numbers.push_back(own == nullptr ? 0 : number(*own));
    }
    return numbers;
  }
  std::vector<const AttentionConfig*> attentions() const {
    std::vector<const AttentionConfig*> all;
    for (const LayerConfig& layer : c_.layers) {
      if (const auto* own = std::get_if<AttentionConfig>(&layer.mixer)) all.push_back(own);
    }
    return all;
  }

  void add_dimensions() {
    set("vocab_size", c_.n_vocab);
    set("context_length", c_.n_ctx_train);
    set("embedding_length", c_.d_model);
    set("block_count", n_file_layers(c_));
    const bool is_rms = spec_.norm == NormKind::kRms;
    set(is_rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon", c_.norm_eps);
    if (is_asked(kBothEpsilons)) set("attention.layer_norm_epsilon", c_.norm_eps);
  }

  // For layers that have no experts; 0 for layers without an ffn.
  void add_widths() {
    if (spec_.ffn == FfnKind::kNone) return set("feed_forward_length", uint32_t{0});
    std::vector<uint32_t> widths;
    for (uint32_t layer = 0; layer < n_file_layers(c_); ++layer) {
      const auto* gated = in_layer<GatedConfig>(layer);
      const auto* plain = in_layer<PlainConfig>(layer);
      const bool has_other = in_layer<ExpertsConfig>(layer) != nullptr || in_layer<ChannelMixConfig>(layer) != nullptr;
      uint32_t width = gated != nullptr ? gated->d_ff : plain != nullptr ? plain->d_ff : 0;
      if (width == 0 && has_other) width = width_beside(in_layer<ExpertsConfig>(layer));
      widths.push_back(width);
    }
    set("feed_forward_length", one_or_list(widths));
  }

  // For layers with experts. If config.json has one width both for shared experts and for layers without experts, the
  // family's other one is that of its experts.
  uint32_t width_beside(const ExpertsConfig* experts) const {
    const HfKeys& keys = source_.hf_keys;
    return experts != nullptr && !keys.shared_d_ff.empty() && keys.d_ff == keys.shared_d_ff ? experts->d_ff : c_.d_ff;
  }

  void add_attention(const AttentionConfig& a) {
    const auto n_kv_heads = by_layer<AttentionConfig>([](const auto& own) { return own.n_kv_heads; });
    set("attention.head_count", a.n_heads);
    const bool is_by_interval = tells_interval() && kinds_interval() > 0;
    set("attention.head_count_kv", is_by_interval ? GgufValue(a.n_kv_heads) : one_or_list(n_kv_heads));
    if (a.head_dim * a.n_heads != c_.d_model || is_given(source_.hf_keys.head_dim)) {
      set("attention.key_length", a.head_dim);
      set("attention.value_length", a.head_dim);
    }
    add_windows();
    if (spec_.softcaps && a.softcap > 0) set("attn_logit_softcapping", a.softcap);
    add_attention_scales(a);
  }

  // An encoder's window counts both sides.
  void add_windows() {
    const auto windows = by_layer<AttentionConfig>([](const auto& own) { return own.window; });
    const uint32_t window = std::ranges::max(windows);
    if (window == 0 || !spec_.has_window()) return;
    set("attention.sliding_window", spec_.is_bidirectional ? 2 * (window - 1) : window);
    std::vector<bool> has_window, by_rule;
    for (uint32_t i = 0; i < windows.size(); ++i) {
      has_window.push_back(windows[i] > 0);
      by_rule.push_back(spec_.has_window_by_interval(i, spec_.full_interval));
    }
    if (spec_.needs_window_flag() || has_window != by_rule || is_given("layer_types")) {
      set("attention.sliding_window_pattern", has_window);
    }
  }

  void add_scale(const ScaleKey& scale, double factor, double neutral) {
    if (scale.gguf.empty()) return;
    const bool is_given_here = is_given(scale.hf) || is_given(scale.hf_older);
    const bool is_default = std::abs(factor - neutral) <= 1e-6 * std::abs(neutral) && scale.gguf_otherwise == 1;
    if (is_default && !is_given_here) return;
    set(scale.gguf, static_cast<float>(scale.gguf_divides ? 1 / factor : factor));
  }

  void add_attention_scales(const AttentionConfig& a) {
    if (!spec_.attn_scale.gguf.empty()) add_scale(spec_.attn_scale, a.scale, 1 / std::sqrt(double{1} * a.head_dim));
    if (a.clip > 0) add_scale(spec_.clip, a.clip, 0);
    if (a.alibi > 0) add_scale(spec_.alibi, a.alibi, 0);
    add_temperature(a);
  }

  // If steps begin a position early, their length is the family's.
  template <class Attention>
  void add_temperature(const Attention& a) {
    const bool is_familys = a.temperature_offset > 0;
    if (a.temperature == 0 || spec_.temperature.gguf.empty()) return;
    if (is_familys && !is_given(spec_.temperature.hf)) return;
    set(spec_.temperature.gguf, a.temperature);
    if (!is_familys) set("attention.temperature_length", a.temperature_step);
  }

  // Keys and values are latents; a head's own sizes have other names.
  void add_latent_attention(const LatentAttentionConfig& a) {
    set("attention.head_count", a.n_heads);
    const bool has_stacks = std::ranges::any_of(
        spec_.tensors, [](const TensorSpec& t) { return t.role == Role::kLatentK && !t.gguf.empty(); });
    const uint32_t n_kv_heads = has_stacks ? 1 : a.n_heads;
    set("attention.head_count_kv",
        one_or_list(by_layer<LatentAttentionConfig>([&](const auto&) { return n_kv_heads; })));
    if (a.q_rank > 0) set("attention.q_lora_rank", a.q_rank);
    set("attention.kv_lora_rank", a.latent_dim);
    set("attention.key_length", has_stacks ? a.key_dim() : a.query_dim());
    set("attention.value_length", has_stacks ? a.latent_dim : a.d_value);
    if (has_stacks) {
      set("attention.key_length_mla", a.query_dim());
      set("attention.value_length_mla", a.d_value);
    }
    set("rope.dimension_count", a.n_rot);
    add_temperature(a);
  }

  void add_recurrent() {
    if (const auto* own = first<MambaConfig>()) {
      add_ssm(own->n_inner, own->dt_rank, own->d_state, own->n_taps);
      if (!knows_role(spec_, Role::kSsmDtNorm) && own->has_norms) set("ssm.dt_b_c_rms", true);
    }
    if (const auto* own = first<Mamba2Config>()) {
      add_ssm(own->n_inner(), own->n_heads, own->d_state, own->n_taps);
      set("ssm.group_count", own->n_groups);
    }
    if (const auto* own = first<DeltaNetConfig>()) {
      add_ssm(own->n_values(), own->n_heads, own->key_dim, own->n_taps);
      set("ssm.group_count", own->n_key_heads);
    }
    if (const auto* own = first<KimiDeltaConfig>()) {
      set("kda.head_dim", own->head_dim);
      set("ssm.conv_kernel", own->n_taps);
    }
    if (const auto* own = first<ShortConvConfig>()) set("shortconv.l_cache", own->n_taps);
    if (const auto* own = first<Rwkv7Config>()) {
      set("wkv.head_size", own->head_dim);
      set("attention.decay_lora_rank", own->decay_rank);
      set("attention.iclr_lora_rank", own->rate_rank);
      set("attention.value_residual_mix_lora_rank", own->v_rank);
      set("attention.gate_lora_rank", own->gate_rank);
      set("token_shift_count", uint32_t{2});
    }
  }
  void add_ssm(uint32_t n_inner, uint32_t rank, uint32_t d_state, uint32_t n_taps) {
    set("ssm.conv_kernel", n_taps);
    set("ssm.inner_size", n_inner);
    set("ssm.state_size", d_state);
    set("ssm.time_step_rank", rank);
  }

  bool attends(uint32_t layer) const {
    return in_layer<AttentionConfig>(layer) != nullptr || in_layer<LatentAttentionConfig>(layer) != nullptr;
  }
  bool tells_interval() const { return spec_.recurrent == MixerKind::kDeltaNet; }
  // One layer out of this many attends; 0: none of these rules.
  uint32_t kinds_interval() const {
    uint32_t interval = 1;
    while (interval <= n_file_layers(c_) && !attends(interval - 1)) ++interval;
    for (uint32_t layer = 0; layer < n_file_layers(c_); ++layer) {
      if (attends(layer) != ((layer + 1) % interval == 0)) return 0;
    }
    return interval;
  }

  // Records which layers attend; in families without the interval the others have no KV heads.
  void add_kinds() {
    if (!tells_interval()) return;
    if (const uint32_t interval = kinds_interval(); interval > 0) return set("full_attention_interval", interval);
    std::vector<bool> recurs;
    for (uint32_t layer = 0; layer < n_file_layers(c_); ++layer) recurs.push_back(!attends(layer));
    set("attention.recurrent_layers", recurs);
  }

  void add_experts(const ExpertsConfig& e) {
    set("expert_count", e.n_experts);
    set("expert_used_count", e.n_used);
    set("expert_feed_forward_length", e.d_ff);
    const bool is_other_score = e.score != spec_.routing.score;
    if (e.score == RouteScore::kSigmoid) set("expert_gating_func", kSigmoidGate);
    const bool says_softmax = is_other_score || !source_.hf_keys.score.empty();
    if (e.score == RouteScore::kSoftmax && says_softmax) set("expert_gating_func", kSoftmaxGate);
    const bool says_norm = e.renormalize != spec_.routing.renormalize || !source_.hf_keys.renormalize.empty();
    if (says_norm) set("expert_weights_norm", e.renormalize);
    if (e.scale != 1 || is_given(source_.hf_keys.routed_scale)) set("expert_weights_scale", e.scale);
    if (e.n_groups > 1 || is_given("n_group")) {
      set("expert_group_count", std::max(e.n_groups, 1u));
      set("expert_group_used_count", std::max(e.n_used_groups, 1u));
    }
    if (is_given("moe_every_n_layers")) add_expert_interval();
    if (e.d_latent > 0) set("moe_latent_size", e.d_latent);
    add_shared(e);
    add_expert_layers();
  }

  void add_shared(const ExpertsConfig& e) {
    if (!knows_role(spec_, Role::kSharedUp) || e.d_shared_ff == 0) return;
    const bool is_told = spec_.routing.is_dense_shared || spec_.routing.is_shared_of_model_width;
    if (is_told) return;
    const bool is_multiple = e.d_shared_ff % e.d_ff == 0;
    const bool has_count = !source_.hf_keys.n_shared.empty() || spec_.routing.n_shared > 0;
    const uint32_t n_shared = is_multiple && has_count ? e.d_shared_ff / e.d_ff : 1;
    if (has_count && is_multiple) set("expert_shared_count", n_shared);
    const bool is_of_one = spec_.routing.gguf_shared_width_is_of_one;
    set("expert_shared_feed_forward_length", is_of_one ? e.d_shared_ff / n_shared : e.d_shared_ff);
  }

  // For Nomic, where llama.cpp requires it; here the tensors show it.
  void add_expert_interval() {
    uint32_t first = 0;
    while (first + 1 < n_file_layers(c_) && in_layer<ExpertsConfig>(first) == nullptr) ++first;
    set("moe_every_n_layers", first + 1);
  }

  void add_expert_layers() {
    uint32_t n_dense = 0, interval = 1;
    while (n_dense < n_file_layers(c_) && in_layer<ExpertsConfig>(n_dense) == nullptr) ++n_dense;
    if (spec_.has_leading_dense()) set("leading_dense_block_count", n_dense);
    if (!spec_.has_expert_interval()) return;
    interval = spec_.has_leading_dense() ? 1 : n_dense + 1;
    set("interleave_moe_layer_step", interval);
  }

  void add_scales() {
    add_scale(spec_.embed_scale, c_.embed_scale, 1);
    add_scale(spec_.residual_scale, c_.residual_scale, 1);
    add_scale(spec_.logit_scale, c_.logit_scale, 1);
    if (spec_.softcaps && c_.final_softcap > 0) set("final_logit_softcapping", c_.final_softcap);
  }

  void add_pooling() {
    if (c_.is_bidirectional) set("attention.causal", false);
    const bool is_said = c_.is_bidirectional || c_.pooling == Pooling::kRank || c_.pooling == Pooling::kMean;
    if (!is_said) return;
    const uint32_t type = c_.pooling == Pooling::kMean    ? kPoolMean
                          : c_.pooling == Pooling::kFirst ? kPoolFirst
                          : c_.pooling == Pooling::kLast  ? kPoolLast
                                                          : kPoolRank;
    set("pooling_type", type);
  }

  // Settings that few families have.
  void add_extras() {
    const auto is_parallel = folder_.metadata().get_bool("use_parallel_residual");
    if (is_parallel.ok() && *is_parallel) set("use_parallel_residual", **is_parallel);
    if (spec_.tell != nullptr) spec_.tell(c_, *this);
    add_xielu();
  }

  void set(std::string_view gguf, std::string_view, MetaValue value) override {
    if (!gguf.empty()) set(gguf, as_gguf(value));
  }

  // GGUF's keys for the activation's numbers do not have the architecture's prefix.
  void add_xielu() {
    if (!knows_role(source_, Role::kXieluAlphaP)) return;
    for (const auto& [role, key] : kXieluKeys) {
      std::vector<float> numbers;
      for (uint32_t layer = 0; layer < n_file_layers(c_); ++layer) {
        const auto number = read_number(ConfigKeys(folder_, source_), role, layer);
        if (number.ok() && *number) numbers.push_back(**number);
      }
      if (numbers.empty()) continue;
      const bool are_alike = std::ranges::all_of(numbers, [&](float number) { return number == numbers.front(); });
      keys_.set(key, are_alike ? GgufValue(numbers.front()) : GgufValue(numbers));
    }
  }

  const ModelFile& folder_;
  const ArchSpec& source_;
  const ArchSpec& spec_;
  const ModelConfig& c_;
  GgufKeys& keys_;
};

}  // namespace

std::vector<int32_t> rope_sections(const Metadata& folder) {
  for (const char* key : {"rope_parameters.mrope_section", "rope_scaling.mrope_section"}) {
    const auto sections = folder.get_ints(key);
    if (!sections.ok() || !*sections) continue;
    std::vector<int32_t> four((*sections)->begin(), (*sections)->end());
    four.resize(4);
    return four;
  }
  return {};
}

Status add_config_keys(const ModelFile& folder, const ArchSpec& spec, const ArchSpec& target, const ModelConfig& config,
                       GgufPlan& plan) {
  ConfigWriter(folder, spec, target, config, plan.keys).add();
  return add_rope_keys(folder, spec, target, config, plan);
}

}  // namespace realizar
