// Reads the configs of recurrent layers, which keep a state instead of keys and values.
#include <fmt/format.h>

#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

constexpr int64_t kMaxState = 1024, kMaxTaps = 16;

// Bounds of time steps are not supported.
Status refuse_step_limits(const ConfigKeys& keys) {
  constexpr std::string_view kLimits = "time_step_limit";
  if (keys.is_gguf()) return {};
  RZ_TRY(const auto limits, keys.file().metadata().get_doubles(kLimits));
  if (!limits || (limits->size() == 2 && limits->front() <= 0 && limits->back() > 1e30)) return {};
  return unsupported(
      fmt::format("{}: {} other than from 0 to infinity is not supported", keys.file().path().string(), kLimits),
      std::string(kLimits));
}

// GGUF has a key for the norms; their epsilon is the model's.
Status read_norms(const ConfigKeys& keys, const ModelConfig& model, MambaConfig& c) {
  c.norms_eps = model.norm_eps;
  c.has_norms = knows_role(keys.spec(), Role::kSsmDtNorm);
  if (c.has_norms) return {};
  if (keys.is_gguf()) {
    RZ_TRY(const auto has_norms, keys.file().metadata().get_bool(keys.key("ssm.dt_b_c_rms", "")));
    c.has_norms = has_norms.value_or(false);
    return {};
  }
  RZ_TRY(const auto type, keys.file().metadata().get_string("model_type"));
  c.has_norms = type && *type == "falcon_mamba";
  RZ_TRY(const auto eps, keys.optional_positive("", "mixer_rms_eps"));
  constexpr float kFalconMambaEps = 1e-6f;
  if (c.has_norms) c.norms_eps = static_cast<float>(eps.value_or(kFalconMambaEps));
  return {};
}

}  // namespace

Result<MambaConfig> read_mamba(const ConfigKeys& keys, const ModelConfig& model) {
  const HfSsmKeys& hf = keys.spec().hf_ssm_keys;
  MambaConfig c;
  if (keys.is_gguf() || hf.expand.empty()) {
    RZ_TRY(c.n_inner, keys.required_int("ssm.inner_size", hf.n_inner, 1, kMaxWidth));
  } else {
    RZ_TRY(const uint32_t factor, keys.required_int("", hf.expand, 1, kMaxWidth / model.d_model));
    c.n_inner = factor * model.d_model;
  }
  RZ_TRY(c.d_state, keys.required_int("ssm.state_size", hf.d_state, 1, kMaxState));
  RZ_TRY(c.dt_rank, keys.required_int("ssm.time_step_rank", hf.dt_rank, 1, kMaxWidth));
  RZ_TRY(c.n_taps, keys.required_int("ssm.conv_kernel", hf.n_taps, 2, kMaxTaps));
  RZ_CHECK_OK(read_norms(keys, model, c));
  return c;
}

// GGUF has the total width of all heads.
Result<Mamba2Config> read_mamba2(const ConfigKeys& keys) {
  const HfSsmKeys& hf = keys.spec().hf_ssm_keys;
  RZ_CHECK_OK(refuse_step_limits(keys));
  Mamba2Config c;
  RZ_TRY(c.n_heads, keys.required_int("ssm.time_step_rank", hf.n_heads, 1, kMaxHeads));
  if (keys.is_gguf()) {
    RZ_TRY(const uint32_t n_inner, keys.required_int("ssm.inner_size", "", 1, kMaxWidth));
    c.head_dim = n_inner % c.n_heads == 0 ? n_inner / c.n_heads : 0;
  } else {
    RZ_TRY(c.head_dim, keys.required_int("", hf.head_dim, 1, kMaxHeadDim));
  }
  if (c.head_dim < 1 || c.head_dim > kMaxHeadDim) {
    return out_of_range(keys.file(), keys.key("ssm.time_step_rank", hf.n_heads),
                        fmt::format("a divisor of ssm.inner_size, with heads of up to {}", kMaxHeadDim),
                        std::to_string(c.n_heads));
  }
  RZ_TRY(const auto n_groups, keys.optional_int("ssm.group_count", hf.n_groups, 1, c.n_heads));
  c.n_groups = n_groups.value_or(1);
  if (c.n_heads % c.n_groups != 0) {
    return out_of_range(keys.file(), keys.key("ssm.group_count", hf.n_groups),
                        fmt::format("a divisor of {} heads", c.n_heads), std::to_string(c.n_groups));
  }
  RZ_TRY(c.d_state, keys.required_int("ssm.state_size", hf.d_state, 1, kMaxState));
  RZ_TRY(c.n_taps, keys.required_int("ssm.conv_kernel", hf.n_taps, 2, kMaxTaps));
  c.has_norm = !is_optional(keys.spec(), Role::kSsmNorm) || has_role(keys, Role::kSsmNorm);
  return c;
}

// The sizes have Mamba's keys: groups are key heads, and d_state is key_dim.
Result<DeltaNetConfig> read_delta_net(const ConfigKeys& keys) {
  RZ_TRY(const Mamba2Config sizes, read_mamba2(keys));
  return DeltaNetConfig{.n_heads = sizes.n_heads,
                        .n_key_heads = sizes.n_groups,
                        .key_dim = sizes.d_state,
                        .value_dim = sizes.head_dim,
                        .n_taps = sizes.n_taps,
                        .key_heads_in_turn = keys.is_gguf() && keys.spec().gguf_key_heads_in_turn};
}

Result<KimiDeltaConfig> read_kimi_delta(const ConfigKeys& keys) {
  const HfSsmKeys& hf = keys.spec().hf_ssm_keys;
  KimiDeltaConfig c;
  RZ_TRY(c.n_heads, keys.required_int("attention.head_count", hf.n_heads, 1, kMaxHeads));
  RZ_TRY(c.head_dim, keys.required_int("kda.head_dim", hf.head_dim, 1, kMaxState));
  RZ_TRY(c.n_taps, keys.required_int("ssm.conv_kernel", hf.n_taps, 2, kMaxTaps));
  return c;
}

// The epsilon of the heads' norm is llama.cpp's constant in GGUF, and head_dim times the model's in a folder: the same
// for all published models.
Result<Rwkv7Config> read_rwkv7(const ConfigKeys& keys, const ModelConfig& model) {
  constexpr float kGgufNormEps = 64e-5f;
  const HfSsmKeys& hf = keys.spec().hf_ssm_keys;
  Rwkv7Config c;
  RZ_TRY(c.head_dim, keys.required_int("wkv.head_size", hf.head_dim, 1, kMaxState));
  if (model.d_model % c.head_dim != 0) {
    return out_of_range(keys.file(), keys.key("wkv.head_size", hf.head_dim),
                        fmt::format("a divisor of {}", model.d_model), std::to_string(c.head_dim));
  }
  c.n_heads = model.d_model / c.head_dim;
  RZ_TRY(c.decay_rank, keys.required_int("attention.decay_lora_rank", "decay_low_rank_dim", 1, kMaxWidth));
  RZ_TRY(c.rate_rank, keys.required_int("attention.iclr_lora_rank", "a_low_rank_dim", 1, kMaxWidth));
  RZ_TRY(c.v_rank, keys.required_int("attention.value_residual_mix_lora_rank", "v_low_rank_dim", 1, kMaxWidth));
  RZ_TRY(c.gate_rank, keys.required_int("attention.gate_lora_rank", "gate_low_rank_dim", 1, kMaxWidth));
  RZ_CHECK_OK(keys.optional_int("token_shift_count", "", 2, 2));  // time mix and channel mix
  c.norm_eps = keys.is_gguf() ? kGgufNormEps : static_cast<float>(c.head_dim) * model.norm_eps;
  return c;
}

Result<ShortConvConfig> read_short_conv(const ConfigKeys& keys, const ModelConfig& c) {
  RZ_TRY(const uint32_t n_taps, keys.required_int("shortconv.l_cache", keys.spec().hf_ssm_keys.n_taps, 2, kMaxTaps));
  return ShortConvConfig{.n_cols = c.d_model, .n_taps = n_taps};
}

}  // namespace realizar
