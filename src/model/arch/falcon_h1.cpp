// Falcon-H1: every layer has attention and Mamba 2 in parallel, then a gated ffn. Folders have factors on all of these
// parts; GGUF folds them into the weights.
#include <fmt/format.h>

#include "base/try.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kFalconH1HfClasses[] = {"FalconH1ForCausalLM"};

constexpr auto kFalconH1Tensors =
    joined(kEmbed, kHead, with_hf(kFinalNorm, "model.final_layernorm.weight"), kAttention, kMamba2Parts,
           optional(kMamba2Norm), optional(kHfMamba2Norm), kMamba2Out,
           norm(Role::kFfnNorm, "blk.{}.ffn_norm", "model.layers.{}.pre_ff_layernorm.weight"),
           with_hf(kWGate, "model.layers.{}.feed_forward.gate_proj.weight"),
           with_hf(kWUp, "model.layers.{}.feed_forward.up_proj.weight"),
           with_hf(kWDown, "model.layers.{}.feed_forward.down_proj.weight"), gguf_only(kGatedBiases), kRopeFactors);

constexpr HfFlag kFalconH1HfFlags[] = {{"mamba_proj_bias", false},
                                       {"projectors_bias", false},
                                       {"attention_bias", false},
                                       {"mlp_bias", false},
                                       {"mamba_norm_before_gate", false}};

// Products without biases are linear, and so are rotations: every factor acts on a product, on q.k or on a
// convolution's columns.
Result<float> read_factor(const ConfigKeys& keys, std::string_view key) {
  RZ_TRY(const auto factor, keys.optional_positive("", key));
  return static_cast<float>(factor.value_or(1));
}

// A list of `n` factors; without one all are 1.
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

// A layer of the file becomes two, whose mixers read the same input.
void add_mixer_beside(const Mamba2Config& beside, ModelConfig& c) {
  std::vector<LayerConfig> layers;
  for (const LayerConfig& layer : c.layers) {
    layers.push_back({.norm_place = layer.norm_place, .mixer = layer.mixer, .ffn = NoFfnConfig{}});
    layers.push_back({.norm_place = NormPlace::kParallelToLast, .mixer = beside, .ffn = layer.ffn});
  }
  c.layers = std::move(layers);
  c.n_layers_each = 2;
  c.n_layers *= c.n_layers_each;
}

// The gate's factor is applied to the ffn's input, so `up` has it too, and the ffn's output is divided by it.
Status adjust_falcon_h1(const ConfigKeys& keys, ModelConfig& c) {
  RZ_TRY(const Mamba2Config mamba2, read_mamba2(keys));
  add_mixer_beside(mamba2, c);
  if (keys.is_gguf()) return {};
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

}  // namespace

const ArchSpec kFalconH1{.name = "falcon-h1",
                         .hf_classes = kFalconH1HfClasses,
                         .tensors = kFalconH1Tensors,
                         .embed_scale = {"", "embedding_multiplier"},
                         .attn_scale = {"attention.scale", ""},
                         .logit_scale = {"", "lm_head_multiplier"},
                         .hf_flags = kFalconH1HfFlags,
                         .hf_ssm_keys = {.n_heads = "mamba_n_heads",
                                         .head_dim = "mamba_d_head",
                                         .n_groups = "mamba_n_groups",
                                         .d_state = "mamba_d_state",
                                         .n_taps = "mamba_d_conv"},
                         .adjust = adjust_falcon_h1};

}  // namespace realizar
