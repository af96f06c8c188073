#include "model/arch/two_thirds.h"

#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

// transformers, Lfm2Config and Lfm2MLP: the width has an older name, and is adjusted unless the file says no.
Result<uint32_t> read_adjusted_d_ff(const ConfigKeys& keys, uint32_t d_ff) {
  const Metadata& metadata = keys.file().metadata();
  RZ_TRY(const auto older, keys.optional_int("", "block_ff_dim", 1, kMaxWidth));
  RZ_TRY(const auto adjusts, metadata.get_bool("block_auto_adjust_ff_dim"));
  const uint32_t given = older.value_or(d_ff);
  if (!adjusts.value_or(true)) return given;
  RZ_TRY(const auto factor, keys.optional_positive("", "block_ffn_dim_multiplier"));
  RZ_TRY(const auto unit, keys.optional_int("", "block_multiple_of", 1, kMaxWidth));
  const uint32_t step = unit.value_or(256);
  const double wanted = std::floor(std::floor(2.0 * given / 3) * std::min(factor.value_or(1), 100.0));
  return (static_cast<uint32_t>(wanted) + step - 1) / step * step;
}

}  // namespace

Status adjust_d_ff(const ConfigKeys& keys, ModelConfig& c) {
  if (keys.is_gguf()) return {};
  RZ_TRY(c.d_ff, read_adjusted_d_ff(keys, c.d_ff));
  change_each<GatedConfig>(c, [&c](GatedConfig& own) { own.d_ff = c.d_ff; });
  return {};
}

void tell_adjusted_d_ff(const ModelConfig& c, KeyTeller& keys) {
  keys.set("", "block_auto_adjust_ff_dim", false);
  keys.set("", "block_ff_dim", uint64_t{c.d_ff});
}

}  // namespace realizar
