// What layers that keep a state instead of keys and values are, by the file's keys.
#include <fmt/format.h>

#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

constexpr int64_t kMaxState = 1024, kMaxTaps = 16;

// Time steps are not held between two bounds.
Status refuse_step_limits(const ConfigKeys& keys) {
  constexpr std::string_view kLimits = "time_step_limit";
  if (keys.is_gguf()) return {};
  RZ_TRY(const auto limits, keys.file().metadata().get_doubles(kLimits));
  if (!limits || (limits->size() == 2 && limits->front() <= 0 && limits->back() > 1e30)) return {};
  return unsupported(
      fmt::format("{}: {} other than from 0 to infinity is not supported", keys.file().path().string(), kLimits),
      std::string(kLimits));
}

}  // namespace

// GGUF tells the width of all heads together.
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
  return c;
}

// Its sizes have the names of Mamba's: groups are key heads, and states are as long as keys.
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

Result<ShortConvConfig> read_short_conv(const ConfigKeys& keys, const ModelConfig& c) {
  RZ_TRY(const uint32_t n_taps, keys.required_int("shortconv.l_cache", keys.spec().hf_ssm_keys.n_taps, 2, kMaxTaps));
  return ShortConvConfig{.n_cols = c.d_model, .n_taps = n_taps};
}

}  // namespace realizar
