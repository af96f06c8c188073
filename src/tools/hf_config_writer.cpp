#include "tools/hf_config_writer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/try.h"
#include "model/config_reader.h"
#include "model/tensor_roles.h"

namespace realizar {
namespace {

using Json = nlohmann::ordered_json;

const char* activation_name(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return "gelu_pytorch_tanh";
    case Activation::kGeluErf:
      return "gelu";
    case Activation::kRelu:
      return "relu";
    case Activation::kReluSquared:
      return "relu2";
    case Activation::kXielu:
      return "xielu";
    default:
      return "silu";
  }
}

Json as_json(const MetaValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<uint64_t>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const auto& array = std::get<MetaArray>(value);
  if (const auto* whole = std::get_if<std::vector<int64_t>>(&array)) return *whole;
  return std::get<std::vector<double>>(array);
}

class HfConfigWriter final : private KeyTeller {
 public:
  HfConfigWriter(const ArchSpec& spec, const ModelConfig& config) : spec_(spec), hf_(spec.hf_keys), c_(config) {}

  Json write(std::string_view hf_class) {
    root_["architectures"] = {std::string(hf_class)};
    root_["model_type"] = model_type_of(hf_class);
    add_flags();
    add_dimensions();
    add_attention();
    add_recurrent();
    add_activation();
    if (const auto* experts = first_ffn<ExpertsConfig>()) add_experts(*experts);
    add_scales();
    add_extras();
    return std::move(root_);
  }

 private:
  void set(std::string_view path, Json value) { set_member(root_, path, std::move(value)); }

  uint32_t n_layers() const { return n_file_layers(c_); }
  template <class Kind>
  const Kind* mixer_in(uint32_t file_layer) const {
    for (uint32_t i = 0; i < c_.n_layers_each; ++i) {
      if (const auto* own = std::get_if<Kind>(&c_.layers[file_layer * c_.n_layers_each + i].mixer)) return own;
    }
    return nullptr;
  }
  template <class Kind>
  const Kind* first_mixer() const {
    for (uint32_t layer = 0; layer < n_layers(); ++layer) {
      if (const Kind* own = mixer_in<Kind>(layer)) return own;
    }
    return nullptr;
  }
  template <class Kind>
  const Kind* first_ffn() const {
    for (const LayerConfig& layer : c_.layers) {
      if (const auto* own = std::get_if<Kind>(&layer.ffn)) return own;
    }
    return nullptr;
  }
  template <class Kind>
  std::vector<uint32_t> by_layer(const std::function<uint32_t(const Kind&)>& number) const {
    std::vector<uint32_t> numbers;
    for (uint32_t layer = 0; layer < n_layers(); ++layer) {
      const Kind* own = mixer_in<Kind>(layer);
      numbers.push_back(own == nullptr ? 0 : number(*own));
    }
    return numbers;
  }

  // Values that the family implies.
  void add_flags() {
    for (const HfFlag& flag : spec_.hf_flags) set(flag.key, flag.value);
    for (const HfNumber& number : spec_.hf_numbers) {
      const bool is_whole = number.value == std::floor(number.value);
      set(number.key, is_whole ? Json(static_cast<int64_t>(number.value)) : Json(number.value));
    }
  }

  void add_dimensions() {
    // Some families are recognized by theirs: a different size is then left to the embedding.
    const bool is_fixed = std::ranges::any_of(spec_.hf_numbers, [&](const HfNumber& number) {
      return number.key == "vocab_size" && number.value != c_.n_vocab && number.also != c_.n_vocab;
    });
    if (is_fixed) root_.erase("vocab_size");
    if (!is_fixed) set("vocab_size", c_.n_vocab);
    set(hf_.d_model, c_.d_model);
    set(hf_.n_layers, n_layers());
    set(hf_.n_ctx, c_.n_ctx_train + hf_.n_skipped_positions);
    set(hf_.norm_eps, c_.norm_eps);
    if (!spec_.is_bidirectional) set("tie_word_embeddings", c_.is_head_tied);
    if (spec_.ffn != FfnKind::kNone) add_widths();
  }

  void add_widths() {
    std::vector<uint32_t> widths;
    for (uint32_t layer = 0; layer < n_layers(); ++layer) {
      uint32_t width = c_.d_ff;
      for (uint32_t i = 0; i < c_.n_layers_each; ++i) {
        const auto* own = std::get_if<GatedConfig>(&c_.layers[layer * c_.n_layers_each + i].ffn);
        if (own != nullptr) width = own->d_ff;
      }
      widths.push_back(width);
    }
    const bool are_alike = std::ranges::all_of(widths, [&](uint32_t width) { return width == widths.front(); });
    set(hf_.d_ff, !are_alike ? Json(widths) : Json(widths.front()));
  }

  void add_attention() {
    if (const auto* latent = first_mixer<LatentAttentionConfig>()) add_latent_attention(*latent);
    const auto* a = first_mixer<AttentionConfig>();
    if (a == nullptr) return;
    set(hf_.n_heads, a->n_heads);
    set(hf_.n_kv_heads, a->n_kv_heads);
    set(hf_.one_kv_head, a->n_kv_heads == 1);
    set(hf_.head_dim, a->head_dim);
    add_windows();
    if (spec_.softcaps && a->softcap > 0) set("attn_logit_softcapping", a->softcap);
    if (spec_.qk_norm == QkNorm::kUnitHead) {
      const auto norms =
          by_layer<AttentionConfig>([](const auto& own) { return own.qk_norm != QkNorm::kNone ? 1u : 0u; });
      set("use_qk_norm", std::ranges::count(norms, 1u) > 0);
    }
    add_attention_scales(*a);
  }

  void add_windows() {
    const auto windows = by_layer<AttentionConfig>([](const auto& own) { return own.window; });
    const uint32_t window = std::ranges::max(windows);
    if (!spec_.has_window()) return;
    const bool is_flagged = spec_.needs_window_flag();
    if (window == 0) {
      if (hf_.window == "sliding_window" && !is_flagged) set(hf_.window, nullptr);
      return;
    }
    if (is_flagged) {
      const auto first = std::ranges::find_if(windows, [](uint32_t own) { return own > 0; });
      set("use_sliding_window", true);
      set("max_window_layers", static_cast<uint64_t>(first - windows.begin()));
    }
    set(hf_.window, spec_.is_bidirectional ? 2 * (window - 1) : window);
    Json types = Json::array(), layout = Json::array(), ropes = Json::array();
    for (uint32_t layer = 0; layer < n_layers(); ++layer) {
      const auto* own = mixer_in<AttentionConfig>(layer);
      const bool has_window = windows[layer] > 0;
      types.push_back(has_window ? hf_.windowed_type : std::string_view("full_attention"));
      layout.push_back(has_window ? 1 : 0);
      ropes.push_back(own != nullptr && own->rope_idx != kNoRope ? 1 : 0);
    }
    if (!spec_.recurrent) set("layer_types", std::move(types));
    set(hf_.window_list, std::move(layout));
    set(hf_.rope_list, std::move(ropes));
  }

  void add_latent_attention(const LatentAttentionConfig& a) {
    set(hf_.n_heads, a.n_heads);
    set(hf_.n_kv_heads, a.n_heads);
    set("q_lora_rank", a.q_rank > 0 ? Json(a.q_rank) : Json(nullptr));
    set("kv_lora_rank", a.latent_dim);
    set("qk_nope_head_dim", a.d_nope);
    set("qk_rope_head_dim", a.n_rot);
    set("v_head_dim", a.d_value);
    add_scale(spec_.temperature, a.temperature, 0);
  }

  void add_attention_scales(const AttentionConfig& a) {
    const double plain = 1 / std::sqrt(double{1} * a.head_dim);
    const bool is_plain = std::abs(a.scale - plain) <= 1e-6 * plain;
    if (!spec_.attn_scale.hf.empty()) add_scale(spec_.attn_scale, a.scale, 0);
    if (!hf_.attn_dims.empty()) set(hf_.attn_dims, is_plain ? Json(a.head_dim) : Json(1 / (double{a.scale} * a.scale)));
    if (a.clip > 0) add_scale(spec_.clip, a.clip, 0);
    if (a.alibi > 0) add_scale(spec_.alibi, a.alibi, 0);
    add_scale(spec_.temperature, a.temperature, 0);
    if (a.temperature_offset > 0 && a.temperature > 0) set("floor_scale", a.temperature_step);
  }

  void add_recurrent() {
    const HfSsmKeys& ssm = spec_.hf_ssm_keys;
    if (const auto* own = first_mixer<MambaConfig>()) {
      set(ssm.n_inner, own->n_inner);
      if (!ssm.expand.empty()) set(ssm.expand, own->n_inner / c_.d_model);
      set(ssm.d_state, own->d_state);
      set(ssm.dt_rank, own->dt_rank);
      set(ssm.n_taps, own->n_taps);
      if (own->has_norms && !knows_role(spec_, Role::kSsmDtNorm)) {
        root_["model_type"] = "falcon_mamba";
        set("mixer_rms_eps", own->norms_eps);
      }
    }
    if (const auto* own = first_mixer<Mamba2Config>()) {
      add_heads(own->n_heads, own->head_dim, own->n_groups, own->d_state, own->n_taps);
      set("mamba_d_ssm", own->n_inner());
      set("mamba_expand", double(own->n_inner()) / c_.d_model);
    }
    if (const auto* own = first_mixer<DeltaNetConfig>()) {
      add_heads(own->n_heads, own->value_dim, own->n_key_heads, own->key_dim, own->n_taps);
    }
    if (const auto* own = first_mixer<KimiDeltaConfig>()) {
      set(ssm.n_heads, own->n_heads);
      set(ssm.head_dim, own->head_dim);
      set(ssm.n_taps, own->n_taps);
    }
    if (const auto* own = first_mixer<ShortConvConfig>()) set(ssm.n_taps, own->n_taps);
    if (const auto* own = first_mixer<Rwkv7Config>()) {
      set(ssm.head_dim, own->head_dim);
      set("decay_low_rank_dim", own->decay_rank);
      set("a_low_rank_dim", own->rate_rank);
      set("v_low_rank_dim", own->v_rank);
      set("gate_low_rank_dim", own->gate_rank);
    }
    if (spec_.recurrent) add_kinds();
  }

  void add_heads(uint32_t n_heads, uint32_t head_dim, uint32_t n_groups, uint32_t d_state, uint32_t n_taps) {
    const HfSsmKeys& ssm = spec_.hf_ssm_keys;
    set(ssm.n_heads, n_heads);
    set(ssm.head_dim, head_dim);
    set(ssm.n_groups, n_groups);
    set(ssm.d_state, d_state);
    set(ssm.n_taps, n_taps);
  }

  bool attends(uint32_t layer) const {
    return mixer_in<AttentionConfig>(layer) != nullptr || mixer_in<LatentAttentionConfig>(layer) != nullptr;
  }

  void add_kinds() {
    const bool is_mamba = *spec_.recurrent == MixerKind::kMamba2 || *spec_.recurrent == MixerKind::kMamba;
    const char* recurs = is_mamba ? "mamba" : *spec_.recurrent == MixerKind::kShortConv ? "conv" : "linear_attention";
    Json kinds = Json::array(), attending = Json::array();
    for (uint32_t layer = 0; layer < n_layers(); ++layer) {
      kinds.push_back(!attends(layer) ? recurs : is_mamba ? "attention" : "full_attention");
      if (attends(layer)) attending.push_back(spec_.hf_ssm_keys.first_layer + layer);
    }
    set(hf_.layer_kinds, std::move(kinds));
    set(spec_.hf_ssm_keys.attending_layers, std::move(attending));
  }

  void add_activation() {
    if (const auto* gated = first_ffn<GatedConfig>()) return set(hf_.activation, activation_name(gated->activation));
    if (const auto* plain = first_ffn<PlainConfig>()) return set(hf_.activation, activation_name(plain->activation));
    if (first_ffn<ChannelMixConfig>() != nullptr) return set(hf_.activation, "sqrelu");
    if (const auto* own = first_ffn<ExpertsConfig>()) set(hf_.activation, activation_name(own->activation));
  }

  void add_experts(const ExpertsConfig& e) {
    set(hf_.n_experts, e.n_experts);
    set(hf_.n_experts_used, e.n_used);
    set(hf_.expert_d_ff, e.d_ff);
    set(hf_.renormalize, e.renormalize);
    if (e.scale != 1) set(hf_.routed_scale, e.scale);
    set(hf_.score, e.score == RouteScore::kSigmoid ? "sigmoid" : "softmax");
    set("n_group", std::max(e.n_groups, 1u));
    set("topk_group", std::max(e.n_used_groups, 1u));
    if (e.n_groups > 1) set("topk_method", e.n_group_best == 1 ? "group_limited_greedy" : "noaux_tc");
    if (e.d_latent > 0) set("moe_latent_size", e.d_latent);
    const bool is_told = spec_.routing.is_dense_shared || spec_.routing.is_shared_of_model_width;
    if (knows_role(spec_, Role::kSharedUp) && !is_told) {
      if (e.d_shared_ff % e.d_ff == 0) set(hf_.n_shared, e.d_shared_ff / e.d_ff);
      set(hf_.shared_d_ff, e.d_shared_ff);
    }
    add_expert_layers();
  }

  void add_expert_layers() {
    std::vector<uint32_t> with_experts;
    for (uint32_t layer = 0; layer < n_layers(); ++layer) {
      const LayerConfig& own = c_.layers[(layer + 1) * c_.n_layers_each - 1];
      if (std::holds_alternative<ExpertsConfig>(own.ffn)) with_experts.push_back(layer);
    }
    const uint32_t first = with_experts.empty() ? 0 : with_experts.front();
    set(hf_.n_leading_dense, first);
    if (spec_.has_expert_interval()) set(hf_.expert_interval, spec_.has_leading_dense() ? 1 : first + 1);
    set(hf_.expert_layers, with_experts);
  }

  // The number in config.json for a factor, by its rule.
  void add_scale(const ScaleKey& scale, double factor, double neutral) {
    if (scale.hf.empty() || factor == 0 || (factor == neutral && scale.hf_otherwise == neutral)) return;
    double number = scale.hf_divides ? 1 / factor : factor;
    if (scale.hf_rule == ScaleRule::kByRootOfLayers) number *= std::sqrt(static_cast<double>(c_.n_layers));
    if (scale.hf_rule == ScaleRule::kByWidth) number = scale.hf_divides ? c_.d_model / factor : factor * c_.d_model;
    set(scale.hf, number);
  }

  void add_scales() {
    add_scale(spec_.embed_scale, c_.embed_scale, 1);
    add_scale(spec_.residual_scale, c_.residual_scale, 1);
    add_scale(spec_.logit_scale, c_.logit_scale, 1);
    if (spec_.softcaps && c_.final_softcap > 0) set("final_logit_softcapping", c_.final_softcap);
  }

  void add_extras() {
    if (c_.n_types > 0) set("type_vocab_size", c_.n_types);
    if (spec_.tell != nullptr) spec_.tell(c_, *this);
    if (c_.is_bidirectional && spec_.recurrent == std::nullopt) set("is_decoder", false);
  }

  void set(std::string_view, std::string_view hf, MetaValue value) override {
    if (!hf.empty()) set(hf, as_json(value));
  }

  const ArchSpec& spec_;
  const HfKeys& hf_;
  const ModelConfig& c_;
  Json root_ = Json::object();
};

}  // namespace

void set_member(nlohmann::ordered_json& root, std::string_view path, nlohmann::ordered_json value) {
  if (path.empty()) return;
  nlohmann::ordered_json* at = &root;
  for (size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    at = &(*at)[std::string(path.substr(0, dot))];
    path.remove_prefix(dot + 1);
  }
  (*at)[std::string(path)] = std::move(value);
}

// Class names follow the model names, with these exceptions.
std::string model_type_of(std::string_view hf_class) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"GPTNeoXForCausalLM", "gpt_neox"},
      {"StableLmForCausalLM", "stablelm"},
      {"GraniteMoeForCausalLM", "granitemoe"},
      {"GraniteMoeSharedForCausalLM", "granitemoeshared"},
      {"GraniteMoeHybridForCausalLM", "granitemoehybrid"},
      {"GPTJForCausalLM", "gptj"},
      {"GPT2LMHeadModel", "gpt2"},
      {"GPTBigCodeForCausalLM", "gpt_bigcode"},
      {"MPTForCausalLM", "mpt"},
      {"XLMRobertaModel", "xlm-roberta"},
      {"ModernBertModel", "modernbert"},
      {"QWenLMHeadModel", "qwen"},
      {"JAISLMHeadModel", "jais"},
      {"NemotronHForCausalLM", "nemotron_h"},
      {"PhiMoEForCausalLM", "phimoe"},
      {"OpenELMForCausalLM", "openelm"},
      {"MiniCPMForCausalLM", "minicpm"},
      {"MiniCPM3ForCausalLM", "minicpm3"},
      {"InternLM2ForCausalLM", "internlm2"},
      {"InternLM3ForCausalLM", "internlm3"},
      {"ChatGLMModel", "chatglm"},
      {"GPTRefactForCausalLM", "gpt_refact"},
      {"BitNetForCausalLM", "bitnet"},
      {"RWKV7ForCausalLM", "rwkv7"},
      {"SmolLM3ForCausalLM", "smollm3"},
      {"HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense"},
      {"HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe"}};
  for (const auto& [name, type] : kOthers) {
    if (name == hf_class) return std::string(type);
  }
  constexpr std::string_view kEnds[] = {
      "ForCausalLM", "ForConditionalGeneration", "ForMaskedLM", "ForSequenceClassification", "TextModel", "Model"};
  for (const std::string_view end : kEnds) {
    if (hf_class.ends_with(end) && hf_class.size() > end.size()) {
      hf_class.remove_suffix(end.size());
      break;
    }
  }
  std::string type;
  for (size_t i = 0; i < hf_class.size(); ++i) {
    const char c = hf_class[i];
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool follows = i > 0 && !(hf_class[i - 1] >= 'A' && hf_class[i - 1] <= 'Z') && hf_class[i - 1] != '_';
    if (is_upper && follows) type += '_';
    type += static_cast<char>(is_upper ? c - 'A' + 'a' : c);
  }
  return type;
}

Result<nlohmann::ordered_json> hf_config_of(const ModelFile& gguf, const ArchSpec& source, const ArchSpec& spec,
                                            std::string_view hf_class, const ModelConfig& config) {
  Json root = HfConfigWriter(spec, config).write(hf_class);
  RZ_CHECK_OK(add_hf_rope(gguf, source, spec, config, root));
  const auto labels = gguf.metadata().get_strings(std::string(source.name) + ".classifier.output_labels");
  if (labels.ok() && *labels) {
    for (size_t i = 0; i < (*labels)->size(); ++i) root["id2label"][std::to_string(i)] = (**labels)[i];
  }
  return root;
}

}  // namespace realizar
