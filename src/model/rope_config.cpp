// Reads rotary embeddings: the frequencies of RoFormer (Su et al. 2021) and their scaling rules.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

constexpr double kPi = std::numbers::pi;

std::vector<double> plain_inv_freq(uint32_t n_rot, double base) {
  std::vector<double> inv_freq(n_rot / 2);
  for (uint32_t i = 0; i < n_rot / 2; ++i) inv_freq[i] = std::pow(base, -2.0 * i / n_rot);
  return inv_freq;
}

// A number for which 0 means "not set", in transformers and in llama.cpp.
Result<std::optional<double>> positive_or_unset(const ConfigKeys& keys, std::string_view gguf, std::string_view hf) {
  const std::string key = keys.key(gguf, hf);
  if (key.empty()) return std::optional<double>();
  RZ_TRY(const auto value, keys.file().metadata().get_double(key));
  if (value == 0) return std::optional<double>();
  return keys.optional_positive(gguf, hf);
}

Error missing(const ConfigKeys& keys, std::string_view what) {
  return format_error(fmt::format("{}: rope scaling needs {}", keys.file().path().string(), what));
}

// YaRN (Peng et al. 2023), section 3.2: high frequencies are kept, low ones divided by the factor, with a ramp between.
Status apply_yarn(const ConfigKeys& keys, const RopeScaling& s, double base, std::vector<double>& inv_freq,
                  float& scale) {
  if (!s.n_ctx_old) return missing(keys, "the original context length");
  const ModelFile& file = keys.file();
  RZ_TRY(const auto truncate, file.metadata().get_bool(rope_scaling_key(file, "truncate", s.of)));
  RZ_TRY(const auto beta_fast,
         positive_or_unset(keys, "rope.scaling.yarn_beta_fast", rope_scaling_key(file, "beta_fast", s.of)));
  RZ_TRY(const auto beta_slow,
         positive_or_unset(keys, "rope.scaling.yarn_beta_slow", rope_scaling_key(file, "beta_slow", s.of)));
  const double n_rot = 2.0 * static_cast<double>(inv_freq.size());
  const auto dim_of_turns = [&](double n_turns) {
    return n_rot * std::log(*s.n_ctx_old / (n_turns * 2 * kPi)) / (2 * std::log(base));
  };
  double low = dim_of_turns(beta_fast.value_or(32)), high = dim_of_turns(beta_slow.value_or(1));
  if (truncate.value_or(true)) low = std::floor(low), high = std::ceil(high);
  low = std::max(0.0, low), high = std::min(n_rot - 1, high);
  for (size_t i = 0; i < inv_freq.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / std::max(0.001, high - low), 0.0, 1.0);
    inv_freq[i] = inv_freq[i] * (1 - ramp) + inv_freq[i] / s.factor * ramp;
  }
  // Section 3.4; with DeepSeek's two mscales their quotient (transformers, modeling_rope_utils). GGUF's attention
  // factor multiplies this, Hugging Face's replaces it.
  RZ_TRY(auto mscale, positive_or_unset(keys, "", rope_scaling_key(file, "mscale", s.of)));
  RZ_TRY(auto mscale_all, positive_or_unset(keys, "", rope_scaling_key(file, "mscale_all_dim", s.of)));
  if (keys.is_gguf() && keys.spec().mixer == MixerKind::kAttention) {
    RZ_TRY(mscale_all, positive_or_unset(keys, "rope.scaling.yarn_log_multiplier", ""));
    if (mscale_all) mscale = 1;  // llama.cpp, llama_context: GGUF has no key for it
  }
  const auto attention_factor = [&](double m) { return s.factor <= 1 ? 1.0 : 0.1 * m * std::log(s.factor) + 1; };
  const bool is_on_scores = keys.is_gguf() && keys.spec().mixer == MixerKind::kLatentAttention &&
                            file.metadata().contains(keys.key("rope.scaling.yarn_log_multiplier", ""));
  const double own = is_on_scores           ? 1
                     : mscale && mscale_all ? attention_factor(*mscale) / attention_factor(*mscale_all)
                                            : attention_factor(1);
  scale = static_cast<float>(keys.is_gguf() ? own * s.attention_factor.value_or(1) : s.attention_factor.value_or(own));
  return {};
}

// Llama 3.1's rule (transformers, modeling_rope_utils): like YaRN, by wavelength. GGUF stores the result as a tensor.
Status apply_llama3(const ConfigKeys& keys, const RopeScaling& s, std::vector<double>& inv_freq) {
  RZ_TRY(const auto low, keys.optional_positive("", rope_scaling_key(keys.file(), "low_freq_factor", s.of)));
  RZ_TRY(const auto high, keys.optional_positive("", rope_scaling_key(keys.file(), "high_freq_factor", s.of)));
  if (!low || !high || !s.n_ctx_old || *high <= *low) {
    return missing(keys, "low_freq_factor < high_freq_factor and original_max_position_embeddings");
  }
  for (double& f : inv_freq) {
    const double n_turns = *s.n_ctx_old * f / (2 * kPi);
    const double smooth = std::clamp((n_turns - *low) / (*high - *low), 0.0, 1.0);
    f = (1 - smooth) * f / s.factor + smooth * f;
  }
  return {};
}

// Divides by a list of factors: rope_freqs, or LongRoPE's (Ding et al. 2024).
Status divide_by(const ConfigKeys& keys, const std::vector<double>& factors, std::string_view name,
                 std::vector<double>& inv_freq) {
  if (factors.size() != inv_freq.size()) {
    return format_error(fmt::format("{}: {}: expected {} factors, actual {}", keys.file().path().string(), name,
                                    inv_freq.size(), factors.size()),
                        std::string(name));
  }
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!(std::isfinite(factors[i]) && factors[i] > 0)) {
      return format_error(fmt::format("{}: {}: expected finite numbers above 0, actual {}", keys.file().path().string(),
                                      name, factors[i]),
                          std::string(name));
    }
    inv_freq[i] /= factors[i];
  }
  return {};
}

Result<std::optional<std::vector<double>>> factors_tensor(const ConfigKeys& keys, Role role) {
  std::string_view name;
  const TensorInfo* tensor = keys.is_gguf() ? find_tensor_of(keys, role, name) : nullptr;
  if (tensor == nullptr) return std::optional<std::vector<double>>();
  RZ_TRY(const auto values, read_vector(*tensor));
  return std::optional(std::vector<double>(values.begin(), values.end()));
}

Status apply_longrope(const ConfigKeys& keys, const RopeScaling& s, uint32_t n_ctx_train, uint32_t n_ctx,
                      std::vector<double>& inv_freq, float& scale) {
  const double n_ctx_old = s.n_ctx_old.value_or(n_ctx_train);
  const bool is_long = n_ctx > n_ctx_old;
  std::optional<std::vector<double>> factors;
  if (keys.is_gguf()) {
    RZ_TRY(factors, factors_tensor(keys, is_long ? Role::kRopeLong : Role::kRopeShort));
  } else {
    RZ_TRY(factors, keys.file().metadata().get_doubles(
                        rope_scaling_key(keys.file(), is_long ? "long_factor" : "short_factor", s.of)));
  }
  const std::string name = keys.is_gguf()
                               ? is_long ? "long factors" : "short factors"
                               : rope_scaling_key(keys.file(), is_long ? "long_factor" : "short_factor", s.of);
  if (!factors) return missing(keys, name);
  RZ_CHECK_OK(divide_by(keys, *factors, name, inv_freq));
  const double ratio = keys.is_gguf() ? n_ctx_train / n_ctx_old : s.factor;
  const double own = ratio <= 1 ? 1 : std::sqrt(1 + std::log(ratio) / std::log(n_ctx_old));
  // Phi-3.5-MoE's folders have an attention factor for each list (transformers, PhimoeRotaryEmbedding).
  RZ_TRY(const auto mscale,
         keys.optional_positive("", rope_scaling_key(keys.file(), is_long ? "long_mscale" : "short_mscale", s.of)));
  scale = static_cast<float>(mscale.value_or(s.attention_factor.value_or(keys.is_gguf() ? 1 : own)));
  return {};
}

Result<uint32_t> read_n_rot(const ConfigKeys& keys, uint32_t head_dim) {
  if (keys.is_gguf()) {
    RZ_TRY(const auto n_rot, keys.optional_int("rope.dimension_count", "", 2, head_dim));
    return n_rot.value_or(head_dim);
  }
  RZ_TRY(const auto kind, keys.file().metadata().get_string(rope_scaling_key(keys.file(), "rope_type")));
  // With latent attention, head_dim is only the rotated part.
  if (kind == "proportional" || keys.spec().mixer == MixerKind::kLatentAttention) return head_dim;
  RZ_TRY(const auto n_rot, keys.optional_int("", keys.spec().hf_keys.n_rot, 2, head_dim));
  if (n_rot) return *n_rot;
  RZ_TRY(auto share, keys.optional_positive("", keys.spec().hf_keys.rope_share));
  if (!share) {
    RZ_TRY(share, keys.optional_positive("", rope_scaling_key(keys.file(), "partial_rotary_factor")));
  }
  return static_cast<uint32_t>(head_dim * std::min(share.value_or(keys.spec().hf_rope_share), 1.0));
}

Result<double> checked_base(const ConfigKeys& keys, std::optional<double> given, double fallback) {
  const double base = given.value_or(fallback);
  if (base > 1) return base;
  return format_error(
      fmt::format("{}: rope theta: expected a number above 1, actual {}", keys.file().path().string(), base));
}

// The rope_ratio of ChatGLM: 3 and GLM-4 multiply the base by it, ChatGLM 2 divides positions. Only the folder's name
// identifies ChatGLM 2.
struct BaseFactor {
  double factor = 1;
  bool divides_positions = false;
};
Result<BaseFactor> read_base_factor(const ConfigKeys& keys) {
  RZ_TRY(const auto factor, keys.optional_positive("", keys.spec().hf_keys.rope_base_factor));
  if (!factor) return BaseFactor{};
  RZ_TRY(const auto name, keys.file().metadata().get_string("_name_or_path"));
  return BaseFactor{*factor, name && name->find("chatglm2") != std::string_view::npos};
}

Result<RopeConfig> as_floats(const ConfigKeys& keys, uint32_t n_rot, const std::vector<double>& inv_freq, float scale,
                             double base) {
  RopeConfig rope{n_rot, {inv_freq.begin(), inv_freq.end()}, scale, base};
  const bool all_finite =
      std::all_of(rope.inv_freq.begin(), rope.inv_freq.end(), [](float f) { return std::isfinite(f); });
  if (all_finite && std::isfinite(scale) && scale > 0) return rope;
  return format_error(keys.file().path().string() + ": the rope settings give frequencies that are not finite");
}

// Dynamic NTK scaling (transformers, modeling_rope_utils): beyond the trained context, the base grows with the context,
// here with the requested one. HunYuan's alpha replaces that factor and always applies.
void stretch_base(const RopeScaling& s, std::optional<double> alpha, double theta, uint32_t n_ctx_train, uint32_t n_ctx,
                  std::vector<double>& inv_freq) {
  if (n_ctx <= n_ctx_train && !alpha) return;
  const auto n_rot = static_cast<uint32_t>(2 * inv_freq.size());
  const double ratio = alpha.value_or(s.factor * n_ctx / n_ctx_train - (s.factor - 1));
  inv_freq = plain_inv_freq(n_rot, theta * std::pow(ratio, n_rot / (n_rot - 2.0)));
}

// Completes a folder's missing numbers with transformers' defaults.
Status complete_scaling(const ConfigKeys& keys, bool has_factor, RopeScaling& s) {
  constexpr std::string_view kFromOld[] = {"yarn", "llama3", "longrope"};
  const bool has_old = std::ranges::find(kFromOld, s.kind) != std::end(kFromOld);
  if (keys.is_gguf() || (!has_old && s.kind != "linear" && s.kind != "dynamic")) return {};
  RZ_TRY(const uint32_t n_ctx_train, read_n_ctx_train(keys));
  if (!s.n_ctx_old && has_old) s.n_ctx_old = n_ctx_train;
  if (has_factor) return {};
  if (s.kind == "yarn" || s.kind == "longrope") {
    s.factor = n_ctx_train / *s.n_ctx_old;
    return {};
  }
  const bool has_alpha = keys.file().metadata().contains(rope_scaling_key(keys.file(), "alpha", s.of));
  if (s.kind == "dynamic" && has_alpha) return {};
  return out_of_range(keys.file(), rope_scaling_key(keys.file(), "factor", s.of), "a finite number above 0", "nothing");
}

Result<std::optional<double>> read_n_ctx_old(const ConfigKeys& keys, RopeOf of) {
  // transformers prefers the key outside the settings.
  RZ_TRY(const auto outer, keys.optional_positive("", "original_max_position_embeddings"));
  if (outer) return outer;
  return keys.optional_positive("rope.scaling.original_context_length",
                                rope_scaling_key(keys.file(), "original_max_position_embeddings", of));
}

// The file's scaling. GGUF has none for layers with a window.
Result<RopeScaling> read_given_scaling(const ConfigKeys& keys, RopeOf of) {
  const ModelFile& file = keys.file();
  RopeScaling s{.kind = "none", .of = of};
  if (of == RopeOf::kWindow && keys.is_gguf()) return s;
  RZ_TRY(auto kind, file.metadata().get_string(keys.key("rope.scaling.type", rope_scaling_key(file, "rope_type", of))));
  if (!kind && !keys.is_gguf()) {
    RZ_TRY(kind, file.metadata().get_string(rope_scaling_key(file, "type", of)));
  }
  RZ_TRY(auto factor, keys.optional_positive("rope.scaling.factor", rope_scaling_key(file, "factor", of)));
  if (!factor) {
    RZ_TRY(factor, keys.optional_positive("rope.scale_linear", ""));  // GGUF's key until 2023
  }
  s.factor = factor.value_or(1);
  // llama.cpp reads a GGUF factor without a type as linear.
  s.kind = kind.value_or(keys.is_gguf() && factor ? "linear" : "none");
  // Sections of a rotation make no difference for text.
  if (s.kind == "default" || (s.kind == "mrope" && !keys.is_gguf())) s.kind = "none";
  if (s.kind == "su") s.kind = "longrope";  // the name in early Phi-3 files
  RZ_TRY(s.n_ctx_old, read_n_ctx_old(keys, of));
  RZ_TRY(s.attention_factor,
         keys.optional_positive("rope.scaling.attn_factor", rope_scaling_key(file, "attention_factor", of)));
  RZ_CHECK_OK(complete_scaling(keys, factor.has_value(), s));
  return s;
}

// Whether a folder has separate settings for layers with a window.
bool has_own_window_rope(const ConfigKeys& keys) {
  const Metadata& metadata = keys.file().metadata();
  return !keys.is_gguf() && keys.spec().has_window() &&
         (metadata.contains(rope_scaling_key(keys.file(), "rope_theta", RopeOf::kWindow)) ||
          metadata.contains(rope_scaling_key(keys.file(), "rope_type", RopeOf::kWindow)));
}

// GGUF's factors encode Llama 3.1's rule, and pairs that never rotate. A scaling that is requested replaces only the
// rule.
std::vector<double> without_llama3_rule(std::vector<double> factors) {
  constexpr double kNeverRotates = 1e25;
  for (double& factor : factors) {
    if (factor < kNeverRotates) factor = 1;
  }
  return factors;
}

// transformers, modeling_rope_utils: only a share of the pairs rotates, with unchanged frequencies.
Status apply_partial(const ConfigKeys& keys, RopeOf of, uint32_t n_rot, std::vector<double>& inv_freq) {
  RZ_TRY(const auto share, keys.optional_positive("", rope_scaling_key(keys.file(), "partial_rotary_factor", of)));
  const auto n_turned = static_cast<size_t>(n_rot * std::min(share.value_or(1), 1.0) / 2);
  std::fill(inv_freq.begin() + static_cast<ptrdiff_t>(n_turned), inv_freq.end(), 0.0);
  return {};
}

Result<RopeConfig> read_scaled_rope(const ConfigKeys& keys, RopeOf of, uint32_t n_rot, uint32_t n_ctx_train,
                                    uint32_t n_ctx) {
  RZ_TRY(const double theta, of == RopeOf::kFull ? read_rope_base(keys) : read_window_rope_base(keys));
  float scale = 1.0f;
  std::vector<double> inv_freq = plain_inv_freq(n_rot, theta);

  RZ_TRY(const BaseFactor base_factor, read_base_factor(keys));
  if (base_factor.divides_positions) {
    for (double& f : inv_freq) f /= base_factor.factor;
  }
  RZ_TRY(const RopeScaling given, read_given_scaling(keys, of));
  RZ_TRY(const RopeScaling scaling, read_rope_scaling(keys, of));
  const bool is_replaced = of == RopeOf::kFull && keys.rope().scaling != RopeStretch::kModel;
  RZ_TRY(auto factors, factors_tensor(keys, Role::kRopeFactors));
  if (factors && is_replaced) factors = without_llama3_rule(std::move(*factors));
  if (factors && of == RopeOf::kFull) RZ_CHECK_OK(divide_by(keys, *factors, "rope_freqs.weight", inv_freq));
  if (given.kind == "proportional" && !keys.is_gguf()) RZ_CHECK_OK(apply_partial(keys, of, n_rot, inv_freq));
  // Phi-3's GGUF files have LongRoPE's tensors and no scaling type.
  const bool has_longrope = of == RopeOf::kFull && !is_replaced && keys.is_gguf() && has_role(keys, Role::kRopeShort);
  if (scaling.kind == "linear" || (scaling.kind == "proportional" && !keys.is_gguf())) {
    for (double& f : inv_freq) f /= scaling.factor;
  } else if (scaling.kind == "yarn") {
    RZ_CHECK_OK(apply_yarn(keys, scaling, theta, inv_freq, scale));
  } else if (scaling.kind == "llama3") {
    RZ_CHECK_OK(apply_llama3(keys, scaling, inv_freq));
  } else if (scaling.kind == "longrope" || has_longrope) {
    RZ_CHECK_OK(apply_longrope(keys, scaling, n_ctx_train, n_ctx, inv_freq, scale));
  } else if (scaling.kind == "dynamic" && (is_replaced || !keys.is_gguf())) {
    std::optional<double> alpha;
    if (!is_replaced) {
      RZ_TRY(alpha, keys.optional_positive("", rope_scaling_key(keys.file(), "alpha", of)));
    }
    const auto n_ctx_old = is_replaced ? static_cast<uint32_t>(scaling.n_ctx_old.value_or(n_ctx_train)) : n_ctx_train;
    stretch_base(scaling, alpha, theta, n_ctx_old, n_ctx, inv_freq);
  } else if (scaling.kind != "none") {
    return unsupported(
        fmt::format("{}: rope scaling '{}' is not supported (linear, dynamic, yarn, llama3, longrope are)",
                    keys.file().path().string(), scaling.kind),
        scaling.kind);
  }
  return as_floats(keys, n_rot, inv_freq, scale, theta);
}

Status check_n_rot(const ConfigKeys& keys, uint32_t n_rot) {
  if (n_rot % 2 == 0 && n_rot > 0) return {};
  return format_error(
      fmt::format("{}: rotary dimensions: expected an even number, actual {}", keys.file().path().string(), n_rot));
}

bool is_same(const RopeConfig& a, const RopeConfig& b) {
  return a.n_rot == b.n_rot && a.inv_freq == b.inv_freq && a.scale == b.scale;
}

}  // namespace

std::string rope_scaling_key(const ModelFile& file, std::string_view name, RopeOf of) {
  if (of == RopeOf::kWindow) return "rope_parameters.sliding_attention." + std::string(name);
  for (const char* newer : {"rope_parameters.full_attention.", "rope_parameters."}) {
    std::string key = newer + std::string(name);
    if (file.metadata().contains(key)) return key;
  }
  return "rope_scaling." + std::string(name);
}

Status check_rope_settings(const RopeSettings& rope) {
  const std::string_view name = option_name(rope.scaling);
  const bool grows = rope.scaling != RopeStretch::kModel && rope.scaling != RopeStretch::kNone;
  if (!grows) {
    const char* const extra = rope.factor ? "rope_factor" : rope.n_ctx_original > 0 ? "rope_original_context" : nullptr;
    if (extra == nullptr) return {};
    return invalid_argument(
        fmt::format("{}: expected with a rope_scaling of linear, dynamic or yarn, actual {}", extra, name), extra);
  }
  if (!rope.factor) {
    return invalid_argument(fmt::format("rope_factor: rope_scaling {} needs one, actual nothing", name), "rope_factor");
  }
  if (!(std::isfinite(*rope.factor) && *rope.factor > 0)) {
    return invalid_argument(fmt::format("rope_factor: expected a finite number above 0, actual {}", *rope.factor),
                            "rope_factor");
  }
  if (rope.n_ctx_original <= kMaxContext) return {};
  return invalid_argument(
      fmt::format("rope_original_context: expected at most {}, actual {}", kMaxContext, rope.n_ctx_original),
      "rope_original_context");
}

Result<RopeScaling> read_rope_scaling(const ConfigKeys& keys, RopeOf of) {
  RZ_TRY(const RopeScaling given, read_given_scaling(keys, of));
  const RopeSettings& asked = keys.rope();
  if (of == RopeOf::kWindow || asked.scaling == RopeStretch::kModel) return given;
  RopeScaling scaling{.kind = std::string(option_name(asked.scaling)), .factor = asked.factor.value_or(1)};
  if (asked.n_ctx_original > 0) {
    scaling.n_ctx_old = asked.n_ctx_original;
  } else if (given.n_ctx_old) {
    scaling.n_ctx_old = given.n_ctx_old;
  } else {
    RZ_TRY(scaling.n_ctx_old, read_n_ctx_train(keys));
  }
  return scaling;
}

Result<double> read_rope_base(const ConfigKeys& keys) {
  RZ_TRY(auto base, keys.optional_positive("rope.freq_base", keys.spec().hf_keys.rope_base));
  if (!base && !keys.is_gguf()) {
    RZ_TRY(base, keys.optional_positive("", rope_scaling_key(keys.file(), "rope_theta")));
  }
  RZ_TRY(const BaseFactor base_factor, read_base_factor(keys));
  const double factor = base_factor.divides_positions ? 1 : base_factor.factor;
  // GGUF's specification has no default; llama.cpp uses RoFormer's.
  return checked_base(keys, base, keys.is_gguf() ? 10000.0 : keys.spec().hf_rope_base * factor);
}

Result<double> read_window_rope_base(const ConfigKeys& keys) {
  RZ_TRY(auto base, keys.optional_positive("rope.freq_base_swa", keys.spec().hf_keys.window_rope_base));
  if (!base) {
    RZ_TRY(base, keys.optional_positive("", "rope_parameters.sliding_attention.rope_theta"));
  }
  if (!base && keys.spec().window_rope_base == 0) return read_rope_base(keys);
  return checked_base(keys, base, keys.spec().window_rope_base);
}

Result<double> read_yarn_magnitude(const ConfigKeys& keys) {
  RZ_TRY(const RopeScaling scaling, read_rope_scaling(keys));
  if (scaling.kind != "yarn" || scaling.factor <= 1) return 1.0;
  const double log_factor = 0.1 * std::log(scaling.factor);
  RZ_TRY(const auto mscale_all, positive_or_unset(keys, "", rope_scaling_key(keys.file(), "mscale_all_dim")));
  if (!keys.is_gguf()) return 1 + mscale_all.value_or(0) * log_factor;
  // The key is a tenth of mscale_all_dim, which llama.cpp takes as 1 if there is no key.
  constexpr std::string_view kTenth = "rope.scaling.yarn_log_multiplier";
  const bool is_given = keys.file().metadata().contains(keys.key(kTenth, ""));
  RZ_TRY(const auto tenth, positive_or_unset(keys, kTenth, ""));
  const double given = scaling.attention_factor.value_or(1);
  return given * (1 + (is_given ? tenth.value_or(0) / 0.1 : 1.0) * log_factor);
}

Result<std::vector<RopeConfig>> read_ropes(const ConfigKeys& keys, uint32_t head_dim, uint32_t n_ctx_train,
                                           uint32_t n_ctx) {
  RZ_TRY(const uint32_t n_rot, read_n_rot(keys, head_dim));
  RZ_CHECK_OK(check_n_rot(keys, n_rot));
  std::vector<RopeConfig> ropes;
  RZ_TRY(RopeConfig rope, read_scaled_rope(keys, RopeOf::kFull, n_rot, n_ctx_train, n_ctx));
  ropes.push_back(std::move(rope));
  const bool is_set_by_arch = keys.spec().window_rope_base > 0;
  if (is_set_by_arch || has_own_window_rope(keys)) {
    RZ_TRY(RopeConfig window_rope, read_scaled_rope(keys, RopeOf::kWindow, n_rot, n_ctx_train, n_ctx));
    if (is_set_by_arch || !is_same(window_rope, ropes.front())) ropes.push_back(std::move(window_rope));
  }
  return ropes;
}

Result<RopeConfig> read_window_rope(const ConfigKeys& keys, uint32_t n_rot, const ModelConfig& c) {
  RZ_CHECK_OK(check_n_rot(keys, n_rot));
  return read_scaled_rope(keys, RopeOf::kWindow, n_rot, c.n_ctx_train, c.n_ctx);
}

}  // namespace realizar
