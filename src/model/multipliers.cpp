// Falcon-H1's factors. What a factor is on the input of products without biases it is on their outputs, and queries and
// keys are rotated by angles that no factor changes: so all of them are factors on products, on q.k, or on columns of
// a convolution.
#include <fmt/format.h>

#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

Result<float> read_factor(const ConfigKeys& keys, std::string_view key) {
  RZ_TRY(const auto factor, keys.optional_positive("", key));
  return static_cast<float>(factor.value_or(1));
}

// `n` of them, or none: then they are 1.
Result<std::vector<float>> read_factors(const ConfigKeys& keys, std::string_view key, size_t n) {
  std::vector<float> factors(n, 1.0f);
  RZ_TRY(const auto given, keys.file().metadata().get_doubles(key));
  if (!given) return factors;
  bool is_right = given->size() == n;
  for (size_t i = 0; is_right && i < n; ++i) {
    factors[i] = static_cast<float>((*given)[i]);
    is_right = factors[i] > 0 && factors[i] <= 1e30f;
  }
  if (is_right) return factors;
  return out_of_range(keys.file(), key, fmt::format("{} finite numbers above 0", n),
                      fmt::format("{} numbers", given->size()));
}

struct Multipliers {
  float attn_in, attn_out, key;
  Mamba2Scales scan;
  float ffn_gate, ffn_down;
};

Result<Multipliers> read_all(const ConfigKeys& keys) {
  Multipliers m;
  RZ_TRY(m.attn_in, read_factor(keys, "attention_in_multiplier"));
  RZ_TRY(m.attn_out, read_factor(keys, "attention_out_multiplier"));
  RZ_TRY(m.key, read_factor(keys, "key_multiplier"));
  RZ_TRY(const float scan_in, read_factor(keys, "ssm_in_multiplier"));
  RZ_TRY(const float scan_out, read_factor(keys, "ssm_out_multiplier"));
  RZ_TRY(const auto parts, read_factors(keys, "ssm_multipliers", 5));
  m.scan = {.gate = scan_in * parts[0],
            .x = scan_in * parts[1],
            .b = scan_in * parts[2],
            .c = scan_in * parts[3],
            .dt = scan_in * parts[4],
            .out = scan_out};
  RZ_TRY(const auto ffn, read_factors(keys, "mlp_multipliers", 2));
  m.ffn_gate = ffn[0], m.ffn_down = ffn[1];
  return m;
}

}  // namespace

// The factor on the gate is one on what the ffn reads, which what it gates then has too: the way back takes it out.
Status read_multipliers(const ConfigKeys& keys, ModelConfig& c) {
  if (!keys.spec().hf_has_multipliers || keys.is_gguf()) return {};
  RZ_TRY(const Multipliers m, read_all(keys));
  for (LayerConfig& layer : c.layers) {
    if (auto* attention = std::get_if<AttentionConfig>(&layer.mixer)) {
      attention->scale *= m.attn_in * m.attn_in * m.key;
      attention->out_scale = m.attn_in * m.attn_out;
    }
    if (auto* scan = std::get_if<Mamba2Config>(&layer.mixer)) scan->scales = m.scan;
    if (auto* ffn = std::get_if<GatedConfig>(&layer.ffn)) {
      layer.ffn_in_scale = m.ffn_gate;
      ffn->out_scale = m.ffn_down / m.ffn_gate;
    }
  }
  return {};
}

}  // namespace realizar
