// What layers with attention differ in beside their windows and rotations.
#include <fmt/format.h>

#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

// Of each layer; config.json has one number for layers with a window and one for the others.
Result<std::vector<uint32_t>> read_kv_heads(const ConfigKeys& keys, const ModelConfig& c) {
  RZ_TRY(const auto all,
         keys.layer_ints("attention.head_count_kv", keys.spec().hf_keys.n_kv_heads, c.n_layers, 1, kMaxHeads));
  std::vector<uint32_t> n_kv_heads;
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    n_kv_heads.push_back(all ? (*all)[i] : std::get<AttentionConfig>(c.layers[i].mixer).n_kv_heads);
  }
  RZ_TRY(const auto global, keys.optional_int("", "num_global_key_value_heads", 1, kMaxHeads));
  for (uint32_t i = 0; global && i < c.n_layers; ++i) {
    if (std::get<AttentionConfig>(c.layers[i].mixer).window == 0) n_kv_heads[i] = *global;
  }
  return n_kv_heads;
}

Status read_window_heads(const ConfigKeys& keys, ModelConfig& c) {
  RZ_TRY(const auto n_kv_heads, read_kv_heads(keys, c));
  RZ_TRY(const auto head_dim, keys.optional_int("attention.key_length_swa", "head_dim", 2, kMaxHeadDim));
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    auto& own = std::get<AttentionConfig>(c.layers[i].mixer);
    own.n_kv_heads = n_kv_heads[i];
    if (own.window > 0) own.head_dim = head_dim.value_or(own.head_dim);
    if (own.n_heads % own.n_kv_heads == 0 && own.head_dim % 2 == 0) continue;
    return out_of_range(keys.file(), keys.key("attention.head_count_kv", keys.spec().hf_keys.n_kv_heads),
                        fmt::format("divisors of {} heads of an even width", own.n_heads),
                        fmt::format("{} of {}", own.n_kv_heads, own.head_dim));
  }
  return {};
}

// OpenELM: a list of the heads of queries and one of those of keys.
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

Status read_out_scales(const ConfigKeys& keys, ModelConfig& c) {
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    RZ_TRY(const auto scale, read_number(keys, Role::kLayerScale, i));
    c.layers[i].out_scale = scale.value_or(1);
  }
  return {};
}

}  // namespace

Status read_unlike_layers(const ConfigKeys& keys, ModelConfig& c) {
  const ArchSpec& spec = keys.spec();
  if (spec.has_window_heads) RZ_CHECK_OK(read_window_heads(keys, c));
  if (spec.has_layer_heads) RZ_CHECK_OK(read_layer_heads(keys, c));
  return read_out_scales(keys, c);
}

void put_beside(const MixerConfig& beside, ModelConfig& c) {
  std::vector<LayerConfig> layers;
  for (const LayerConfig& layer : c.layers) {
    layers.push_back({.norm_place = layer.norm_place, .mixer = layer.mixer, .ffn = NoFfnConfig{}});
    layers.push_back({.norm_place = NormPlace::kBesideLast, .mixer = beside, .ffn = layer.ffn});
  }
  c.layers = std::move(layers);
  c.n_layers_each = 2;
  c.n_layers *= c.n_layers_each;
}

}  // namespace realizar
