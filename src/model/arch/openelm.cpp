// OpenELM: Llama with norms of q and k; later layers have more heads and wider ffns.
#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kOpenelmHfClasses[] = {"OpenELMForCausalLM"};

constexpr auto kOpenelmTensors =
    joined(with_hf(kEmbed, "transformer.token_embeddings.weight"), with_hf(kFinalNorm, "transformer.norm.weight"),
           with_hf(kAttnNorm, "transformer.layers.{}.attn_norm.weight"),
           with_hf(kWqkv, "transformer.layers.{}.attn.qkv_proj.weight"),
           with_hf(kQNorm, "transformer.layers.{}.attn.q_norm.weight"),
           with_hf(kKNorm, "transformer.layers.{}.attn.k_norm.weight"),
           with_hf(kWo, "transformer.layers.{}.attn.out_proj.weight"),
           with_hf(kFfnNorm, "transformer.layers.{}.ffn_norm.weight"), gguf_only(kWGate), gguf_only(kWUp),
           hf_only(kWGateUp, "transformer.layers.{}.ffn.proj_1.weight"),
           with_hf(kWDown, "transformer.layers.{}.ffn.proj_2.weight"));

constexpr HfFlag kOpenelmHfFlags[] = {
    {"ffn_with_glu", true}, {"normalize_qk_projections", true}, {"share_input_output_layers", true}};

// config.json has the ffns' widths as multiples of the model's, one per layer, and the step that they are rounded to.
constexpr std::string_view kFactors = "ffn_multipliers", kStep = "ffn_dim_divisor";

// Lists of query heads and of KV heads.
Status read_layer_heads(const ConfigKeys& keys, ModelConfig& c) {
  const HfKeys& hf = keys.spec().hf_keys;
  RZ_TRY(const auto n_heads, keys.layer_ints("attention.head_count", hf.n_heads, c.n_layers, 1, kMaxHeads));
  RZ_TRY(const auto n_kv_heads, keys.layer_ints("attention.head_count_kv", hf.n_kv_heads, c.n_layers, 1, kMaxHeads));
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    auto& own = std::get<AttentionConfig>(c.layers[i].mixer);
    if (n_heads) own.n_heads = (*n_heads)[i];
    own.n_kv_heads = n_kv_heads ? (*n_kv_heads)[i] : own.n_heads;
    if (own.n_heads % own.n_kv_heads == 0) continue;
    return out_of_range(keys.file(), keys.key("attention.head_count_kv", hf.n_kv_heads),
                        fmt::format("a divisor of the {} heads of layer {}", own.n_heads, i),
                        std::to_string(own.n_kv_heads));
  }
  return {};
}

// OpenELM's make_divisible: the nearest multiple, unless that takes away more than a tenth.
uint32_t in_steps(double width, uint32_t step) {
  const auto nearest = static_cast<uint32_t>((width + step / 2.0) / step) * step;
  const uint32_t chosen = std::max(step, nearest);
  return chosen < 0.9 * width ? chosen + step : chosen;
}

Status read_hf_widths(const ConfigKeys& keys, ModelConfig& c) {
  RZ_TRY(const auto factors, keys.file().metadata().get_doubles(kFactors));
  RZ_TRY(const uint32_t step, keys.required_int("", kStep, 1, kMaxWidth));
  const auto is_wrong = [&](double factor) { return !(factor > 0 && factor * c.d_model + step <= kMaxWidth); };
  if (!factors || factors->size() != c.n_layers || std::ranges::any_of(*factors, is_wrong)) {
    return out_of_range(keys.file(), kFactors, fmt::format("{} factors of widths up to {}", c.n_layers, kMaxWidth),
                        fmt::format("{} numbers", factors ? factors->size() : 0));
  }
  c.d_ff = 0;
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    auto& own = std::get<GatedConfig>(c.layers[i].ffn);
    own.d_ff = in_steps((*factors)[i] * c.d_model, step);
    c.d_ff = std::max(c.d_ff, own.d_ff);
  }
  return {};
}

Status adjust_openelm(const ConfigKeys& keys, ModelConfig& c) {
  RZ_CHECK_OK(read_layer_heads(keys, c));
  return keys.is_gguf() ? Status() : read_hf_widths(keys, c);
}

void tell_openelm(const ModelConfig& c, KeyTeller& keys) {
  std::vector<int64_t> n_heads, n_kv_heads;
  std::vector<double> factors;
  for (const LayerConfig& layer : c.layers) {
    const auto& own = std::get<AttentionConfig>(layer.mixer);
    n_heads.push_back(own.n_heads);
    n_kv_heads.push_back(own.n_kv_heads);
    factors.push_back(static_cast<double>(std::get<GatedConfig>(layer.ffn).d_ff) / c.d_model);
  }
  keys.set("attention.head_count", "num_query_heads", MetaArray(n_heads));
  keys.set("attention.head_count_kv", "num_kv_heads", MetaArray(n_kv_heads));
  for (const std::string_view key : {"attention.key_length", "attention.value_length"}) {
    keys.set(key, "", uint64_t{std::get<AttentionConfig>(c.layers.front().mixer).head_dim});
  }
  keys.set("", kFactors, MetaArray(factors));
  keys.set("", kStep, uint64_t{1});
}

}  // namespace

const ArchSpec kOpenElm{.name = "openelm",
                        .hf_classes = kOpenelmHfClasses,
                        .tensors = kOpenelmTensors,
                        .qk_norm = QkNorm::kHead,
                        .hf_norm_eps = 1e-6f,
                        .hf_flags = kOpenelmHfFlags,
                        .hf_keys = {.d_model = "model_dim",
                                    .n_layers = "num_transformer_layers",
                                    .n_heads = "num_query_heads",
                                    .n_kv_heads = "num_kv_heads",
                                    .d_ff = "",
                                    .n_ctx = "max_context_length",
                                    .activation = "activation_fn_name",
                                    .rope_base = "rope_freq_constant",
                                    .d_ff_factor = 1},
                        .adjust = adjust_openelm,
                        .tell = tell_openelm};

}  // namespace realizar
