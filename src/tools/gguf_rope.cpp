#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/try.h"
#include "model/config_reader.h"
#include "tools/gguf_config.h"

namespace realizar {
namespace {

// The divisor for a pair that never rotates.
constexpr float kNeverTurns = 1e30f;

// transformers' default for these families, for which llama.cpp requires the key: thirds of the pairs, 11, 11 and 10 of
// 32. Text rotates the same for any sections.
std::vector<int32_t> even_sections(uint32_t n_rot) {
  const auto n_pairs = static_cast<int32_t>(n_rot / 2);
  const int32_t first = (n_pairs + 2) / 3, second = (n_pairs - first + 1) / 2;
  return {first, second, n_pairs - first - second, 0};
}

class RopeWriter {
 public:
  RopeWriter(const ModelFile& folder, const ArchSpec& source, const ArchSpec& spec, const ModelConfig& config,
             GgufPlan& plan)
      : folder_(folder), spec_(spec), config_(config), plan_(plan), hf_(folder, source) {}

  Status add() {
    if (config_.ropes.empty()) return {};
    RZ_TRY(double base, read_rope_base(hf_));
    RZ_TRY(const RopeScaling scaling, read_rope_scaling(hf_));
    RZ_TRY(const auto alpha, number("alpha"));
    const uint32_t n_rot = config_.ropes.front().n_rot;
    // HunYuan's alpha is a larger base.
    if (scaling.kind == "dynamic" && alpha) base *= std::pow(*alpha, n_rot / (n_rot - 2.0));
    set("rope.freq_base", static_cast<float>(base));
    set("rope.dimension_count", n_rot);
    if (config_.ropes.size() > 1) {
      RZ_TRY(const double window_base, read_window_rope_base(hf_));
      const bool is_needed = spec_.window_rope_base > 0 || window_base != base;
      if (is_needed) set("rope.freq_base_swa", static_cast<float>(window_base));
    }
    const std::vector<int32_t> sections = rope_sections(folder_.metadata());
    if (!sections.empty()) set("rope.dimension_sections", sections);
    if (sections.empty() && (spec_.name == "qwen35" || spec_.name == "qwen35moe")) {
      set("rope.dimension_sections", even_sections(n_rot));
    }
    if (scaling.kind == "linear") add_linear(scaling.factor);
    if (scaling.kind == "yarn") return add_yarn(scaling);
    if (scaling.kind == "llama3") return add_llama3(scaling, base);
    if (scaling.kind == "longrope") return add_longrope(scaling);
    if (scaling.kind == "proportional") add_proportional();
    return add_divided_positions();
  }

 private:
  void set(std::string_view name, GgufValue value) {
    plan_.keys.set(std::string(spec_.name) + "." + std::string(name), std::move(value));
  }
  Result<std::optional<double>> number(std::string_view name) const {
    return folder_.metadata().get_double(rope_scaling_key(folder_, name));
  }

  void add_linear(double factor) {
    set("rope.scaling.type", std::string("linear"));
    set("rope.scaling.factor", static_cast<float>(factor));
  }

  // ChatGLM 2's positions are divided, which its base does not show.
  Status add_divided_positions() {
    RZ_TRY(const double base, read_rope_base(hf_));
    const RopeConfig& rope = config_.ropes.front();
    const double first = rope.inv_freq.front();
    if (hf_.spec().hf_keys.rope_base_factor.empty() || first >= 1 || base <= 1) return {};
    add_linear(1 / first);
    return {};
  }

  // With latent attention the magnitude applies to q.k, and the key holds a tenth of mscale_all_dim.
  Status add_yarn(const RopeScaling& scaling) {
    set("rope.scaling.type", std::string("yarn"));
    set("rope.scaling.factor", static_cast<float>(scaling.factor));
    set("rope.scaling.original_context_length", static_cast<uint32_t>(scaling.n_ctx_old.value_or(0)));
    for (const auto& [name, key] : {std::pair("beta_fast", "rope.scaling.yarn_beta_fast"),
                                    std::pair("beta_slow", "rope.scaling.yarn_beta_slow")}) {
      RZ_TRY(const auto beta, number(name));
      if (beta) set(key, static_cast<float>(*beta));
    }
    RZ_TRY(const auto mscale, number("mscale"));
    RZ_TRY(const auto mscale_all, number("mscale_all_dim"));
    const double own = scaling.factor <= 1 ? 1 : 0.1 * std::log(scaling.factor) + 1;
    if (spec_.mixer == MixerKind::kLatentAttention) {
      if (mscale_all) set("rope.scaling.yarn_log_multiplier", static_cast<float>(0.1 * *mscale_all));
      return {};
    }
    if (mscale_all.value_or(0) > 0 && mscale == 1) {
      set("rope.scaling.yarn_log_multiplier", static_cast<float>(*mscale_all));
      return {};
    }
    const double wanted = config_.ropes.front().scale;
    if (std::abs(wanted - own) > 1e-6 * own) set("rope.scaling.attn_factor", static_cast<float>(wanted / own));
    return {};
  }

  Status add_factors(Role role, std::vector<float> factors) {
    const auto spec = std::ranges::find(spec_.tensors, role, &TensorSpec::role);
    if (spec == spec_.tensors.end() || spec->gguf.empty()) {
      return unsupported(
          fmt::format("{}: GGUF has no factors of the rotation for '{}'", folder_.path().string(), spec_.name));
    }
    const uint64_t n = factors.size();
    plan_.tensors.push_back({std::string(spec->gguf), {n}, given_rows(std::move(factors), n), true});
    return {};
  }

  // Llama 3.1's rule, by the wavelength of each pair.
  Status add_llama3(const RopeScaling& scaling, double base) {
    RZ_TRY(const auto low, number("low_freq_factor"));
    RZ_TRY(const auto high, number("high_freq_factor"));
    if (!low || !high || !scaling.n_ctx_old) return {};  // the config's reader has refused it
    const uint32_t n_rot = config_.ropes.front().n_rot;
    std::vector<float> factors;
    for (uint32_t i = 0; i < n_rot / 2; ++i) {
      const double n_turns = *scaling.n_ctx_old * std::pow(base, -2.0 * i / n_rot) / (2 * std::numbers::pi);
      const double smooth = std::clamp((n_turns - *low) / (*high - *low), 0.0, 1.0);
      factors.push_back(static_cast<float>(1 / ((1 - smooth) / scaling.factor + smooth)));
    }
    return add_factors(Role::kRopeFactors, std::move(factors));
  }

  Status add_longrope(const RopeScaling& scaling) {
    for (const auto& [name, role] :
         {std::pair("long_factor", Role::kRopeLong), std::pair("short_factor", Role::kRopeShort)}) {
      RZ_TRY(const auto factors, folder_.metadata().get_doubles(rope_scaling_key(folder_, name)));
      if (factors) RZ_CHECK_OK(add_factors(role, {factors->begin(), factors->end()}));
    }
    set("rope.scaling.original_context_length", static_cast<uint32_t>(scaling.n_ctx_old.value_or(0)));
    set("rope.scaling.attn_factor", config_.ropes.front().scale);
    return {};
  }

  // Only a share of the pairs rotates, at the speed that it has if all do.
  void add_proportional() {
    std::vector<float> factors;
    for (const float f : config_.ropes.front().inv_freq) factors.push_back(f == 0 ? kNeverTurns : 1.0f);
    (void)add_factors(Role::kRopeFactors, std::move(factors));
  }

  const ModelFile& folder_;
  const ArchSpec& spec_;
  const ModelConfig& config_;
  GgufPlan& plan_;
  const ConfigKeys hf_;
};

}  // namespace

Status add_rope_keys(const ModelFile& folder, const ArchSpec& spec, const ArchSpec& target, const ModelConfig& config,
                     GgufPlan& plan) {
  return RopeWriter(folder, spec, target, config, plan).add();
}

}  // namespace realizar
