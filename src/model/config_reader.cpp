#include "model/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/arch/list.h"

namespace realizar {
namespace {

// Bounds far above any known model, below what the backends are sized for: a layer is at most 13 operations of a step's
// 4096, a head's keys fit the scratch of attention, and no product of two of these overflows 32 bits.
constexpr int64_t kMaxLayers = 256;
constexpr int64_t kMaxHeads = 4096;
constexpr int64_t kMaxHeadDim = 1024;
constexpr int64_t kMaxWidth = 1 << 20;    // d_model, d_ff
constexpr int64_t kMaxContext = 1 << 26;  // positions
constexpr int64_t kMaxExperts = 4096;
constexpr uint32_t kMostContextByDefault = 8192;

std::string known_architectures() {
  std::string names;
  for (const ArchSpec* spec : all_architectures()) {
    names += (names.empty() ? "" : ", ") + std::string(spec->name);
    for (const std::string_view hf_class : spec->hf_classes) names += fmt::format(" ({})", hf_class);
  }
  return names;
}

Error out_of_range(const ModelFile& file, std::string_view key, std::string_view expected, std::string actual) {
  return format_error(fmt::format("{}: {}: expected {}, actual {}", file.path().string(), key, expected, actual),
                      std::string(key));
}

Status read_dimensions(const ConfigKeys& keys, ModelConfig& c) {
  const HfKeys& hf = keys.spec().hf_keys;
  RZ_TRY(c.n_layers, keys.required_int("block_count", hf.n_layers, 1, kMaxLayers));
  RZ_TRY(c.d_model, keys.required_int("embedding_length", hf.d_model, 1, kMaxWidth));
  RZ_TRY(c.n_ctx_train, keys.required_int("context_length", hf.n_ctx, 1, kMaxContext));
  // GPT-2's config.json may leave the ffn's width out: it is then four times the model's (transformers, GPT2Config).
  RZ_TRY(const auto d_ff, keys.optional_int("feed_forward_length", hf.d_ff, 1, kMaxWidth));
  if (!d_ff && hf.d_ff != "n_inner") {
    return out_of_range(keys.file(), keys.key("feed_forward_length", hf.d_ff), "a whole number", "nothing");
  }
  c.d_ff = d_ff.value_or(4 * c.d_model);
  return {};
}

// What all layers have in common.
Result<AttentionConfig> read_attention(const ConfigKeys& keys, const ModelConfig& c) {
  const HfKeys& hf = keys.spec().hf_keys;
  AttentionConfig a;
  a.qk_norm = keys.spec().qk_norm;
  RZ_TRY(a.n_heads, keys.required_int("attention.head_count", hf.n_heads, 1, kMaxHeads));
  RZ_TRY(const auto n_kv_heads, keys.optional_int("attention.head_count_kv", hf.n_kv_heads, 1, kMaxHeads));
  a.n_kv_heads = n_kv_heads.value_or(a.n_heads);
  if (a.n_heads % a.n_kv_heads != 0) {
    return out_of_range(keys.file(), keys.key("attention.head_count_kv", hf.n_kv_heads),
                        fmt::format("a divisor of {} heads", a.n_heads), std::to_string(a.n_kv_heads));
  }
  RZ_TRY(const auto head_dim, keys.optional_int("attention.key_length", "head_dim", 1, kMaxHeadDim));
  if (!head_dim && c.d_model % a.n_heads != 0) {
    return out_of_range(keys.file(), keys.key("embedding_length", hf.d_model),
                        fmt::format("a multiple of {} heads", a.n_heads), std::to_string(c.d_model));
  }
  a.head_dim = head_dim.value_or(c.d_model / a.n_heads);
  if (a.head_dim % 2 != 0 || a.head_dim > kMaxHeadDim) {
    return out_of_range(keys.file(), "head_dim", fmt::format("an even number up to {}", kMaxHeadDim),
                        std::to_string(a.head_dim));
  }
  RZ_TRY(const auto value_dim, keys.optional_int("attention.value_length", "v_head_dim", 1, kMaxWidth));
  if (value_dim.value_or(a.head_dim) != a.head_dim) {
    return unsupported(fmt::format("{}: values of {} dimensions with keys of {} are not supported",
                                   keys.file().path().string(), *value_dim, a.head_dim));
  }
  return a;
}

Result<ExpertsConfig> read_experts(const ConfigKeys& keys, const ModelConfig& c, uint32_t n_experts) {
  const ArchSpec& spec = keys.spec();
  ExpertsConfig experts{.n_experts = n_experts, .activation = spec.activation};
  RZ_TRY(experts.n_used, keys.required_int("expert_used_count", "num_experts_per_tok", 1, n_experts));
  RZ_TRY(const auto d_ff, keys.optional_int("expert_feed_forward_length", spec.hf_keys.expert_d_ff, 1, kMaxWidth));
  experts.d_ff = d_ff.value_or(c.d_ff);
  if (!keys.is_gguf() && !spec.hf_keys.renormalize.empty()) {
    RZ_TRY(const auto renormalize, keys.file().metadata().get_bool(spec.hf_keys.renormalize));
    experts.renormalize = renormalize.value_or(false);  // transformers, Qwen3MoeConfig
    RZ_TRY(const auto step, keys.file().metadata().get_int("decoder_sparse_step"));
    RZ_TRY(const auto dense_layers, keys.file().metadata().get_ints("mlp_only_layers"));
    if (step.value_or(1) != 1 || (dense_layers && !dense_layers->empty())) {
      return unsupported("dense layers among the experts' (decoder_sparse_step, mlp_only_layers) are not supported");
    }
  }
  return experts;
}

Result<FfnConfig> read_ffn(const ConfigKeys& keys, const ModelConfig& c) {
  const ArchSpec& spec = keys.spec();
  if (spec.moe != MoeRule::kNone) {
    RZ_TRY(const auto n_experts, keys.optional_int("expert_count", spec.hf_keys.n_experts, 0, kMaxExperts));
    if (n_experts.value_or(0) > 0) {
      RZ_TRY(const ExpertsConfig experts, read_experts(keys, c, *n_experts));
      return FfnConfig(experts);
    }
    if (spec.moe == MoeRule::kAlways) {
      return out_of_range(keys.file(), keys.key("expert_count", spec.hf_keys.n_experts), "1 or more", "nothing");
    }
  }
  if (spec.ffn == FfnKind::kPlain) return FfnConfig(PlainConfig{c.d_ff, spec.activation});
  return FfnConfig(GatedConfig{c.d_ff, spec.activation});
}

// Keys that change the arithmetic in ways that no architecture of the table has. GGUF's converters write some of them
// with the value that changes nothing (0 stands for "not set" in llama.cpp); any other is refused.
Status refuse_foreign_traits(const ConfigKeys& keys) {
  if (!keys.is_gguf()) {
    constexpr std::string_view kBothWays = "use_bidirectional_attention";
    RZ_TRY(const auto both_ways, keys.file().metadata().get_bool(kBothWays));
    if (!both_ways.value_or(false)) return {};
    return unsupported(fmt::format("{}: {} = true is not supported", keys.file().path().string(), kBothWays),
                       std::string(kBothWays));
  }
  struct Neutral {
    std::string_view key;
    double also;  // allowed in addition to 0
  };
  static constexpr Neutral kNumbers[] = {
      {"logit_scale", 1},
      {"embedding_scale", 1},
      {"residual_scale", 1},
      {"attention.scale", 0},
      {"attention.clamp_kqv", 0},
      {"expert_weights_scale", 1},
      {"attention.max_alibi_bias", 0},
      {"expert_gating_func", 1},
      {"expert_shared_count", 0},
  };
  for (const Neutral& neutral : kNumbers) {
    const std::string key = keys.key(neutral.key, "");
    RZ_TRY(const auto value, keys.file().metadata().get_double(key));
    if (value.value_or(0) == 0 || *value == neutral.also) continue;
    return unsupported(fmt::format("{}: {} = {} is not supported", keys.file().path().string(), key, *value), key);
  }
  for (const std::string_view name : {"attention.causal", "expert_weights_norm"}) {
    const std::string key = keys.key(name, "");
    RZ_TRY(const auto value, keys.file().metadata().get_bool(key));
    if (value.value_or(true)) continue;
    return unsupported(fmt::format("{}: {} = false is not supported", keys.file().path().string(), key), key);
  }
  return {};
}

// Layers with a sliding window by the list in config.json; nothing where it has none.
Result<std::optional<std::vector<bool>>> read_layer_types(const ConfigKeys& keys, uint32_t n_layers) {
  std::optional<std::vector<bool>> has_window;
  if (keys.is_gguf()) return has_window;
  RZ_TRY(const auto types, keys.file().metadata().get_strings("layer_types"));
  if (!types) return has_window;
  if (types->size() != n_layers) {
    return out_of_range(keys.file(), "layer_types", fmt::format("{} entries", n_layers), std::to_string(types->size()));
  }
  has_window.emplace(n_layers, false);
  for (uint32_t i = 0; i < n_layers; ++i) {
    const std::string_view type = (*types)[i];
    (*has_window)[i] = type == "sliding_attention" && keys.spec().has_window;
    if ((*has_window)[i] || type == "full_attention") continue;
    return unsupported(fmt::format("{}: layer_types: '{}' is not supported for {}", keys.file().path().string(), type,
                                   keys.spec().name),
                       "layer_types");
  }
  return has_window;
}

// One layer in so many that sees the whole context; 0: none does.
Result<uint32_t> read_full_interval(const ConfigKeys& keys) {
  for (const std::string_view hf : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    RZ_TRY(const auto interval, keys.optional_int("attention.sliding_window_pattern", hf, 0, kMaxLayers));
    if (interval) return *interval;
  }
  return keys.spec().full_interval;
}

// The window of each layer; 0: the whole context.
Result<std::vector<uint32_t>> read_windows(const ConfigKeys& keys, uint32_t n_layers) {
  std::vector<uint32_t> windows(n_layers, 0);
  RZ_TRY(const auto has_window, read_layer_types(keys, n_layers));
  if (!keys.spec().has_window) {
    RZ_TRY(const auto use_window, keys.file().metadata().get_bool("use_sliding_window"));
    if (keys.is_gguf() || !use_window.value_or(false)) return windows;
    return unsupported("use_sliding_window is not supported for " + std::string(keys.spec().name));
  }
  RZ_TRY(const auto window, keys.optional_int("attention.sliding_window", "sliding_window", 0, kMaxContext));
  RZ_TRY(const uint32_t interval, read_full_interval(keys));
  for (uint32_t i = 0; i < n_layers; ++i) {
    const bool sees_all = has_window ? !(*has_window)[i] : interval > 0 && (i + 1) % interval == 0;
    windows[i] = sees_all ? 0 : window.value_or(0);
  }
  return windows;
}

// Layers without rope: by the list in config.json (1: with rope) or by the interval.
Result<std::vector<bool>> read_rope_layers(const ConfigKeys& keys, uint32_t n_layers) {
  std::vector<bool> rope(n_layers, true);
  if (keys.spec().nope_interval == 0) return rope;
  if (!keys.is_gguf()) {
    RZ_TRY(const auto listed, keys.file().metadata().get_ints("no_rope_layers"));
    if (listed) {
      if (listed->size() != n_layers) {
        return out_of_range(keys.file(), "no_rope_layers", fmt::format("{} entries", n_layers),
                            std::to_string(listed->size()));
      }
      for (uint32_t i = 0; i < n_layers; ++i) rope[i] = (*listed)[i] != 0;
      return rope;
    }
  }
  RZ_TRY(const auto given, keys.optional_int("", "no_rope_layer_interval", 1, kMaxLayers));
  const uint32_t interval = keys.is_gguf() ? keys.spec().nope_interval : given.value_or(keys.spec().nope_interval);
  for (uint32_t i = 0; i < n_layers; ++i) rope[i] = (i + 1) % interval != 0;
  return rope;
}

// The rotation of layers with a window is the last one.
Status read_layers(const ConfigKeys& keys, const AttentionConfig& attention, const FfnConfig& ffn, ModelConfig& c) {
  RZ_TRY(const auto windows, read_windows(keys, c.n_layers));
  RZ_TRY(const auto has_rope, read_rope_layers(keys, c.n_layers));
  const auto n_ropes = static_cast<uint32_t>(c.ropes.size());
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    AttentionConfig own = attention;
    own.window = windows[i];
    if (has_rope[i] && n_ropes > 0) own.rope_idx = own.window > 0 ? n_ropes - 1 : 0;
    c.layers.push_back({keys.spec().norm_place, own, ffn});
  }
  return {};
}

// 0: none.
Result<float> read_softcap(const ConfigKeys& keys, std::string_view key) {
  const auto need = keys.spec().softcaps;
  if (!need) return 0.0f;
  RZ_TRY(const auto softcap, keys.optional_positive(key, key));
  if (!softcap && need == Need::kRequired) {
    return out_of_range(keys.file(), keys.key(key, key), "a finite number above 0", "nothing");
  }
  return static_cast<float>(softcap.value_or(0));
}

// What q.k is divided by the square root of.
Result<double> read_attn_dims(const ConfigKeys& keys, const ModelConfig& c, const AttentionConfig& attention) {
  RZ_TRY(const auto given, keys.optional_positive("", keys.spec().hf_keys.attn_dims));
  if (given) return *given;
  const bool is_by_width = keys.is_gguf() && c.n_layers == keys.spec().gguf_layers_scaled_by_width;
  return is_by_width ? static_cast<double>(c.d_model) / attention.n_heads : attention.head_dim;
}

Status read_scales(const ConfigKeys& keys, ModelConfig& c, AttentionConfig& attention) {
  const ArchSpec& spec = keys.spec();
  RZ_TRY(const double eps, keys.required_positive(spec.norm == NormKind::kRms ? "attention.layer_norm_rms_epsilon"
                                                                              : "attention.layer_norm_epsilon",
                                                  spec.hf_keys.norm_eps));
  c.norm_eps = static_cast<float>(eps);
  if (spec.embed_scale_sqrt_d_model) c.embed_scale = std::sqrt(static_cast<float>(c.d_model));
  RZ_TRY(const double attn_dims, read_attn_dims(keys, c, attention));
  attention.scale = static_cast<float>(1 / std::sqrt(attn_dims));
  RZ_TRY(attention.softcap, read_softcap(keys, "attn_logit_softcapping"));
  RZ_TRY(c.final_softcap, read_softcap(keys, "final_logit_softcapping"));
  return {};
}

Status check_activation(const ConfigKeys& keys) {
  if (keys.is_gguf()) return {};
  RZ_TRY(const auto given, keys.file().metadata().get_string(keys.spec().hf_keys.activation));
  if (!given) return {};
  const bool is_gelu = *given == "gelu_pytorch_tanh" || *given == "gelu_new";
  const bool fits = keys.spec().activation == Activation::kSilu ? *given == "silu" || *given == "swish" : is_gelu;
  if (fits) return {};
  return unsupported(fmt::format("{}: {}: activation '{}' is not supported for {}", keys.file().path().string(),
                                 keys.spec().hf_keys.activation, *given, keys.spec().name));
}

// A decoder that says nothing gives its last token's state.
Result<bool> read_pools_mean(const ConfigKeys& keys) {
  constexpr int64_t kGgufMean = 1;
  if (!keys.is_gguf()) return false;
  RZ_TRY(const auto type, keys.file().metadata().get_int(keys.key("pooling_type", "")));
  return type == kGgufMean;
}

const TensorInfo* find_role(const ConfigKeys& keys, Role role, std::string_view& name) {
  for (const TensorSpec& tensor : keys.spec().tensors) {
    if (tensor.role != role) continue;
    name = keys.is_gguf() ? tensor.gguf : tensor.hf;
    return find_tensor(keys.file(), name);
  }
  return nullptr;
}

// The vocabulary is as large as the embedding: the one size that every file has.
Result<uint32_t> read_n_vocab(const ConfigKeys& keys) {
  std::string_view name;
  const TensorInfo* embed = find_role(keys, Role::kEmbed, name);
  if (embed == nullptr || embed->shape.size() != 2 || embed->shape[0] > uint64_t{1} << 30) {
    return not_found(
        fmt::format("{}: tensor '{}' of shape [n_vocab, d_model] is missing", keys.file().path().string(), name),
        std::string(name));
  }
  return static_cast<uint32_t>(embed->shape[0]);
}

// GGUF ties by leaving the head out. Hugging Face says it, and may keep an unused copy of the head; where config.json
// is silent, the file decides.
Result<bool> read_is_head_tied(const ConfigKeys& keys) {
  std::optional<bool> said;
  if (!keys.is_gguf()) {
    RZ_TRY(said, keys.file().metadata().get_bool("tie_word_embeddings"));
  }
  std::string_view name;
  return said.value_or(find_role(keys, Role::kHead, name) == nullptr);
}

}  // namespace

Result<const ArchSpec*> find_architecture(const ModelFile& file) {
  const bool is_gguf = file.format() == FileFormat::kGguf;
  std::string asked;
  if (is_gguf) {
    RZ_TRY(const auto name, file.metadata().get_string("general.architecture"));
    asked = name.value_or("");
  } else {
    RZ_TRY(const auto names, file.metadata().get_strings("architectures"));
    asked = names && !names->empty() ? std::string(names->front()) : "";
  }
  if (asked.empty()) {
    return format_error(
        fmt::format("{}: {} is missing", file.path().string(), is_gguf ? "general.architecture" : "architectures"));
  }
  for (const ArchSpec* spec : all_architectures()) {
    if (is_gguf ? spec->name == asked
                : std::find(spec->hf_classes.begin(), spec->hf_classes.end(), asked) != spec->hf_classes.end()) {
      return spec;
    }
  }
  return unsupported(fmt::format("{}: architecture '{}' is not supported; known are {}", file.path().string(), asked,
                                 known_architectures()),
                     asked);
}

std::string ConfigKeys::key(std::string_view gguf, std::string_view hf) const {
  if (!is_gguf()) return std::string(hf);
  return gguf.empty() ? "" : std::string(spec_->name) + "." + std::string(gguf);
}

Result<std::optional<uint32_t>> ConfigKeys::optional_int(std::string_view gguf, std::string_view hf, int64_t min,
                                                         int64_t max) const {
  const std::string name = key(gguf, hf);
  if (name.empty()) return std::optional<uint32_t>();
  RZ_TRY(const auto value, file_->metadata().get_int(name));
  if (!value) return std::optional<uint32_t>();
  if (*value < min || *value > max) {
    return out_of_range(*file_, name, fmt::format("{} to {}", min, max), std::to_string(*value));
  }
  return std::optional(static_cast<uint32_t>(*value));
}

Result<uint32_t> ConfigKeys::required_int(std::string_view gguf, std::string_view hf, int64_t min, int64_t max) const {
  RZ_TRY(const auto value, optional_int(gguf, hf, min, max));
  if (!value) return out_of_range(*file_, key(gguf, hf), "a whole number", "nothing");
  return *value;
}

Result<std::optional<double>> ConfigKeys::optional_positive(std::string_view gguf, std::string_view hf) const {
  const std::string name = key(gguf, hf);
  if (name.empty()) return std::optional<double>();
  RZ_TRY(const auto value, file_->metadata().get_double(name));
  if (value && !(std::isfinite(*value) && *value > 0)) {
    return out_of_range(*file_, name, "a finite number above 0", fmt::format("{}", *value));
  }
  return value;
}

Result<double> ConfigKeys::required_positive(std::string_view gguf, std::string_view hf) const {
  RZ_TRY(const auto value, optional_positive(gguf, hf));
  if (!value) return out_of_range(*file_, key(gguf, hf), "a finite number above 0", "nothing");
  return *value;
}

const TensorInfo* find_tensor(const ModelFile& file, std::string_view name) {
  const TensorInfo* tensor = file.find(name);
  if (tensor != nullptr || file.format() == FileFormat::kGguf) return tensor;
  return file.find(name.substr(name.find('.') + 1));
}

Result<std::vector<float>> read_vector(const TensorInfo& tensor) {
  const TypeTraits& type = traits(tensor.type);
  if (type.block_elems != 1) {
    return unsupported(fmt::format("tensor '{}': a vector of type {} is not supported", tensor.name, type.name),
                       tensor.name);
  }
  std::vector<float> values(tensor.n_elems());
  type.decode(tensor.data.data(), values.data(), values.size());
  return values;
}

Result<ModelConfig> read_config(const ModelFile& file, const ModelOptions& options) {
  RZ_TRY(const ArchSpec* spec, find_architecture(file));
  const ConfigKeys keys(file, *spec);
  ModelConfig c;
  c.arch = spec->name;
  RZ_TRY(const auto name, file.metadata().get_string(keys.is_gguf() ? "general.name" : "_name_or_path"));
  c.name = name.value_or("");
  c.norm = spec->norm;
  c.learned_positions = spec->learned_positions;
  RZ_CHECK_OK(check_activation(keys));
  RZ_CHECK_OK(refuse_foreign_traits(keys));
  RZ_CHECK_OK(read_dimensions(keys, c));
  c.n_ctx = options.n_ctx > 0 ? options.n_ctx : std::min(c.n_ctx_train, kMostContextByDefault);
  RZ_TRY(AttentionConfig attention, read_attention(keys, c));
  RZ_TRY(const FfnConfig ffn, read_ffn(keys, c));
  RZ_CHECK_OK(read_scales(keys, c, attention));
  RZ_TRY(c.n_vocab, read_n_vocab(keys));
  RZ_TRY(c.is_head_tied, read_is_head_tied(keys));
  RZ_TRY(c.pools_mean, read_pools_mean(keys));
  if (!c.learned_positions) {
    RZ_TRY(c.ropes, read_ropes(keys, attention.head_dim, c.n_ctx_train, c.n_ctx));
    if (keys.is_gguf() && spec->gguf_interleaved_rope) attention.n_interleaved = c.ropes.front().n_rot;
  }
  RZ_CHECK_OK(read_layers(keys, attention, ffn, c));
  return c;
}

}  // namespace realizar
