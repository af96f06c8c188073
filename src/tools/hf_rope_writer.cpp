#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "base/try.h"
#include "model/config_reader.h"
#include "tools/hf_config_writer.h"

namespace realizar {
namespace {

using Factors = std::optional<std::vector<float>>;

// Llama 3.1's settings, with which one number determines all factors.
constexpr double kLowTurns = 1, kHighTurns = 4, kOldContext = 8192;

class HfRopeWriter {
 public:
  HfRopeWriter(const ModelFile& gguf, const ArchSpec& source, const ArchSpec& spec, const ModelConfig& config,
               nlohmann::ordered_json& root)
      : gguf_(gguf), keys_(gguf, source), spec_(spec), c_(config), root_(root) {}

  Status add() {
    if (c_.ropes.empty()) return {};
    RZ_TRY(base_, read_rope_base(keys_));
    RZ_TRY(const Factors freqs, factors(Role::kRopeFactors));
    const bool is_partial = std::ranges::any_of(c_.ropes.front().inv_freq, [](float f) { return f < 1e-25f; });
    if (freqs && is_partial) return add_proportional(*freqs);
    group_ = spec_.temperature.hf.starts_with("rope_parameters.") ? "rope_parameters." : "rope_scaling.";
    const bool is_grouped = spec_.hf_keys.rope_base.empty() || group_ == "rope_parameters.";
    set_member(root_, is_grouped ? group_ + "rope_theta" : std::string(spec_.hf_keys.rope_base), base_);
    if (c_.ropes.size() > 1) {
      RZ_TRY(const double window_base, read_window_rope_base(keys_));
      const bool is_needed = spec_.window_rope_base > 0 || window_base != base_;
      if (is_needed) set_member(root_, spec_.hf_keys.window_rope_base, window_base);
    }
    add_share();
    RZ_CHECK_OK(add_sections());
    RZ_TRY(const RopeScaling scaling, read_rope_scaling(keys_));
    RZ_TRY(const Factors shorts, factors(Role::kRopeShort));
    RZ_TRY(const Factors longs, factors(Role::kRopeLong));
    if (shorts && longs) return add_longrope(*shorts, *longs, scaling.n_ctx_old.value_or(c_.n_ctx_train));
    if (freqs) return add_freqs(*freqs);
    if (scaling.kind == "linear") {
      set("rope_type", "linear");
      set("factor", scaling.factor);
    }
    return scaling.kind == "yarn" ? add_yarn(scaling) : Status();
  }

 private:
  void set(std::string_view name, nlohmann::ordered_json value) {
    set_member(root_, group_ + std::string(name), std::move(value));
  }

  Result<Factors> factors(Role role) const {
    for (const TensorSpec& spec : keys_.spec().tensors) {
      const TensorInfo* tensor = spec.role == role ? gguf_.find(spec.gguf) : nullptr;
      if (tensor == nullptr) continue;
      RZ_TRY(auto values, read_vector(*tensor));
      return Factors(std::move(values));
    }
    return Factors();
  }

  // A folder has the share of a head's dimensions that rotate, or their number.
  void add_share() {
    if (spec_.mixer == MixerKind::kLatentAttention) return;
    const HeadSizes heads = heads_of(c_);
    const uint32_t n_rot = c_.ropes.front().n_rot;
    if (!spec_.hf_keys.n_rot.empty()) return set_member(root_, spec_.hf_keys.n_rot, n_rot);
    const double share = static_cast<double>(n_rot) / heads.key_dim;
    if (!spec_.hf_keys.rope_share.empty() && (share != 1 || spec_.hf_rope_share != 1)) {
      set_member(root_, spec_.hf_keys.rope_share, share);
    }
  }

  // For rotations by sections, which also serve images: text rotates the same in all of them.
  Status add_sections() {
    RZ_TRY(auto sections, gguf_.metadata().get_ints(keys_.key("rope.dimension_sections", "")));
    if (!sections) return {};
    sections->resize(3);
    set("mrope_section", *sections);
    return {};
  }

  Status add_longrope(const std::vector<float>& shorts, const std::vector<float>& longs, double n_ctx_old) {
    set("rope_type", "longrope");
    set("type", "longrope");
    set("short_factor", shorts);
    set("long_factor", longs);
    set("attention_factor", c_.ropes.front().scale);
    set("original_max_position_embeddings", static_cast<uint64_t>(n_ctx_old));
    set_member(root_, "original_max_position_embeddings", static_cast<uint64_t>(n_ctx_old));
    return {};
  }

  // If GGUF's factors follow Llama 3.1's rule, that rule is written; otherwise they become a list for both of
  // LongRoPE's.
  Status add_freqs(const std::vector<float>& freqs) {
    const double factor = std::ranges::max(freqs);
    const auto n_rot = static_cast<double>(c_.ropes.front().n_rot);
    bool is_llama3 = factor > 1;
    for (size_t i = 0; is_llama3 && i < freqs.size(); ++i) {
      const double n_turns =
          kOldContext * std::pow(base_, -2.0 * static_cast<double>(i) / n_rot) / (2 * std::numbers::pi);
      const double smooth = std::clamp((n_turns - kLowTurns) / (kHighTurns - kLowTurns), 0.0, 1.0);
      const double expected = 1 / ((1 - smooth) / factor + smooth);
      is_llama3 = std::abs(freqs[i] - expected) <= 1e-5 * expected;
    }
    if (!is_llama3) return add_longrope(freqs, freqs, c_.n_ctx_train);
    set("rope_type", "llama3");
    set("factor", factor);
    set("low_freq_factor", kLowTurns);
    set("high_freq_factor", kHighTurns);
    set("original_max_position_embeddings", static_cast<uint64_t>(kOldContext));
    return {};
  }

  Status add_yarn(const RopeScaling& scaling) {
    set("rope_type", "yarn");
    set("type", "yarn");
    set("factor", scaling.factor);
    set("original_max_position_embeddings", static_cast<uint64_t>(scaling.n_ctx_old.value_or(c_.n_ctx_train)));
    for (const auto& [name, key] : {std::pair("beta_fast", "rope.scaling.yarn_beta_fast"),
                                    std::pair("beta_slow", "rope.scaling.yarn_beta_slow")}) {
      RZ_TRY(const auto beta, keys_.optional_positive(key, ""));
      if (beta) set(name, *beta);
    }
    RZ_TRY(const auto multiplier, keys_.optional_positive("rope.scaling.yarn_log_multiplier", ""));
    if (spec_.mixer == MixerKind::kLatentAttention) {
      const double mscale = multiplier.value_or(0.1) * 10;
      set("mscale", mscale);
      set("mscale_all_dim", mscale);
    }
    set("attention_factor", c_.ropes.front().scale);
    return {};
  }

  // Gemma 4: only a share of the pairs rotates, and layers with a window have their own rotation.
  Status add_proportional(const std::vector<float>& freqs) {
    const auto n_turned = std::ranges::count_if(freqs, [](float factor) { return factor < 1e25f; });
    group_ = "rope_parameters.full_attention.";
    set("rope_type", "proportional");
    set("rope_theta", base_);
    set("partial_rotary_factor", static_cast<double>(n_turned) / static_cast<double>(freqs.size()));
    RZ_TRY(const double window_base, read_window_rope_base(keys_));
    group_ = "rope_parameters.sliding_attention.";
    set("rope_type", "default");
    set("rope_theta", window_base);
    return {};
  }

  const ModelFile& gguf_;
  const ConfigKeys keys_;
  const ArchSpec& spec_;
  const ModelConfig& c_;
  nlohmann::ordered_json& root_;
  double base_ = 0;
  std::string group_ = "rope_scaling.";
};

}  // namespace

Status add_hf_rope(const ModelFile& gguf, const ArchSpec& source, const ArchSpec& spec, const ModelConfig& config,
                   nlohmann::ordered_json& root) {
  return HfRopeWriter(gguf, source, spec, config, root).add();
}

}  // namespace realizar
