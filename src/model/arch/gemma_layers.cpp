#include "model/arch/gemma_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

constexpr std::string_view kGgufWidth = "embedding_length_per_layer_input", kHfWidth = "hidden_size_per_layer_input",
                           kHfVocab = "vocab_size_per_layer_input", kGgufShared = "attention.shared_kv_layers",
                           kHfShared = "num_kv_shared_layers", kHfIsWide = "use_double_wide_mlp";

Status read_layer_table(const ConfigKeys& keys, ModelConfig& c) {
  RZ_TRY(const auto width, keys.optional_int(kGgufWidth, kHfWidth, 0, kMaxWidth / c.n_layers));
  RZ_TRY(const auto n_vocab, keys.optional_int("", kHfVocab, 1, c.n_vocab));
  c.layer_table = {width.value_or(0), n_vocab.value_or(c.n_vocab)};
  return {};
}

// Finds the last layer of the same kind before the sharing ones.
Status share_kv(const ConfigKeys& keys, uint32_t n_shared, ModelConfig& c) {
  const uint32_t first = c.n_layers - n_shared;
  for (uint32_t i = first; i < c.n_layers; ++i) {
    auto& own = std::get<AttentionConfig>(c.layers[i].mixer);
    for (uint32_t from = 0; from < first; ++from) {
      const auto& other = std::get<AttentionConfig>(c.layers[from].mixer);
      const bool fits =
          other.window == own.window && other.head_dim == own.head_dim && other.n_kv_heads == own.n_kv_heads;
      if (fits) own.kv_layer = from;
    }
    if (own.kv_layer != kOwnKv) continue;
    return out_of_range(keys.file(), keys.key(kGgufShared, kHfShared),
                        fmt::format("a layer like layer {} before those that share", i), std::to_string(n_shared));
  }
  return {};
}

// Layers without wv use the keys as values.
void normalize_values(const ConfigKeys& keys, ModelConfig& c) {
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    auto& own = std::get<AttentionConfig>(c.layers[i].mixer);
    const bool may_be_keys = own.kv_layer == kOwnKv && is_optional(keys.spec(), Role::kWv);
    own.values = may_be_keys && !has_role(keys, Role::kWv, i) ? Values::kNormedKeys : Values::kNormed;
  }
}

}  // namespace

Status read_gemma_layers(const ConfigKeys& keys, ModelConfig& c) {
  RZ_CHECK_OK(read_layer_table(keys, c));
  change_each<AttentionConfig>(c, [](AttentionConfig& own) { own.scale = 1; });
  RZ_TRY(const auto given, keys.optional_int(kGgufShared, kHfShared, 0, c.n_layers - 1));
  const uint32_t n_shared = given.value_or(0);
  RZ_CHECK_OK(share_kv(keys, n_shared, c));
  normalize_values(keys, c);
  if (keys.is_gguf()) return {};
  RZ_TRY(const auto is_wide, keys.file().metadata().get_bool(kHfIsWide));
  for (uint32_t i = is_wide.value_or(false) ? c.n_layers - n_shared : c.n_layers; i < c.n_layers; ++i) {
    if (auto* gated = std::get_if<GatedConfig>(&c.layers[i].ffn)) gated->d_ff *= 2;
  }
  return {};
}

void tell_gemma_layers(const ModelConfig& c, KeyTeller& keys) {
  keys.set(kGgufWidth, kHfWidth, uint64_t{c.layer_table.d_input});
  keys.set("", kHfVocab, uint64_t{c.layer_table.n_vocab});
  const auto shares = [](const LayerConfig& layer) {
    return std::get<AttentionConfig>(layer.mixer).kv_layer != kOwnKv;
  };
  const auto* first = std::get_if<GatedConfig>(&c.layers.front().ffn);
  const auto* last = std::get_if<GatedConfig>(&c.layers.back().ffn);
  if (c.altup.n_streams == 1 && first != nullptr && last != nullptr && last->d_ff == 2 * first->d_ff) {
    keys.set("", "intermediate_size", uint64_t{first->d_ff});
    keys.set("", kHfIsWide, true);
  }
  keys.set(kGgufShared, kHfShared, static_cast<uint64_t>(std::ranges::count_if(c.layers, shares)));
}

void scale_by_width(ModelConfig& c) {
  change_each<AttentionConfig>(c, [&c](AttentionConfig& own) {
    own.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(c.d_model) / own.n_heads));
  });
}

}  // namespace realizar
