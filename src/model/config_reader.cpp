#include "model/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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
constexpr uint32_t kGemma2Layers27B = 46;

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
    return unsupported(fmt::format("{}: values of {} dimensions beside keys of {} are not supported",
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

// GGUF keys that change the arithmetic in ways that no architecture of the table has. Converters write some of them
// with the value that changes nothing (0 stands for "not set" in llama.cpp); any other is refused.
Status refuse_foreign_traits(const ConfigKeys& keys) {
  if (!keys.is_gguf()) return {};
  struct Neutral {
    std::string_view key;
    double also;  // beside 0
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

Result<uint32_t> read_window(const ConfigKeys& keys) {
  if (keys.spec().window == WindowPattern::kNone) {
    RZ_TRY(const auto use_window, keys.file().metadata().get_bool("use_sliding_window"));
    if (!keys.is_gguf() && use_window.value_or(false)) {
      return unsupported("use_sliding_window is not supported for " + std::string(keys.spec().name));
    }
    return 0u;
  }
  RZ_TRY(const auto window, keys.optional_int("attention.sliding_window", "sliding_window", 0, kMaxContext));
  return window.value_or(0);
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

Status read_layers(const ConfigKeys& keys, const AttentionConfig& attention, const FfnConfig& ffn, ModelConfig& c) {
  RZ_TRY(const uint32_t window, read_window(keys));
  RZ_TRY(const auto rope, read_rope_layers(keys, c.n_layers));
  const bool every_other = keys.spec().window == WindowPattern::kEvenLayers;
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    AttentionConfig own = attention;
    own.rope_idx = rope[i] && !c.ropes.empty() ? 0 : kNoRope;
    own.window = every_other && i % 2 == 1 ? 0 : window;
    c.layers.push_back({keys.spec().norm_place, own, ffn});
  }
  return {};
}

Status read_scales(const ConfigKeys& keys, ModelConfig& c, AttentionConfig& attention) {
  const ArchSpec& spec = keys.spec();
  RZ_TRY(const double eps, keys.required_positive(spec.norm == NormKind::kRms ? "attention.layer_norm_rms_epsilon"
                                                                              : "attention.layer_norm_epsilon",
                                                  spec.hf_keys.norm_eps));
  c.norm_eps = static_cast<float>(eps);
  if (spec.embed_scale_sqrt_d_model) c.embed_scale = std::sqrt(static_cast<float>(c.d_model));
  double attn_dims = attention.head_dim;
  if (spec.attn_scale == AttnScale::kGemma2) {
    // GGUF does not say it: the 27B model, known by its layers, divides by d_model / n_heads (its paper, table 1).
    RZ_TRY(const auto scalar, keys.optional_positive("", "query_pre_attn_scalar"));
    if (keys.is_gguf() && c.n_layers == kGemma2Layers27B)
      attn_dims = static_cast<double>(c.d_model) / attention.n_heads;
    if (!keys.is_gguf()) attn_dims = scalar.value_or(attn_dims);
    RZ_TRY(const double attn_softcap, keys.required_positive("attn_logit_softcapping", "attn_logit_softcapping"));
    RZ_TRY(const double final_softcap, keys.required_positive("final_logit_softcapping", "final_logit_softcapping"));
    attention.softcap = static_cast<float>(attn_softcap);
    c.final_softcap = static_cast<float>(final_softcap);
  }
  attention.scale = static_cast<float>(1 / std::sqrt(attn_dims));
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
  RZ_TRY(AttentionConfig attention, read_attention(keys, c));
  RZ_TRY(const FfnConfig ffn, read_ffn(keys, c));
  RZ_CHECK_OK(read_scales(keys, c, attention));
  RZ_TRY(c.n_vocab, read_n_vocab(keys));
  RZ_TRY(c.is_head_tied, read_is_head_tied(keys));
  if (!c.learned_positions) {
    const uint32_t n_ctx = options.n_ctx > 0 ? options.n_ctx : c.n_ctx_train;
    RZ_TRY(RopeConfig rope, read_rope(keys, attention.head_dim, c.n_ctx_train, n_ctx));
    if (keys.is_gguf() && spec->gguf_interleaved_rope) attention.n_interleaved = rope.n_rot;
    c.ropes.push_back(std::move(rope));
  }
  RZ_CHECK_OK(read_layers(keys, attention, ffn, c));
  return c;
}

}  // namespace realizar
