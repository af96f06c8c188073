#include "model/model_config.h"

#include <fmt/format.h>

#include <cmath>
#include <type_traits>

namespace realizar {
namespace {

template <size_t kSize, class Enum>
const char* name_in(const char* const (&names)[kSize], Enum value) {
  return names[static_cast<size_t>(value)];
}

std::string text_of(Pooling pooling) {
  return name_in({"none", "last", "mean", "first", "rank", "all"}, pooling);
}
std::string text_of(QkNorm norm) {
  return name_in({"none", "head", "unit head", "own head", "row"}, norm);
}
std::string text_of(QkvRows rows) {
  return name_in({"stacked", "by KV head"}, rows);
}
std::string text_of(Values values) {
  return name_in({"own", "normed", "normed keys"}, values);
}
std::string text_of(RouteScore score) {
  return name_in({"softmax", "sigmoid", "SparseMixer"}, score);
}
std::string text_of(GateUpRows rows) {
  return name_in({"stacked", "paired"}, rows);
}
std::string text_of(ExpertInput input) {
  return name_in({"ffn input", "routed before the mixer", "layer input", "own norms"}, input);
}
std::string text_of(Activation activation) {
  return name_of(activation);
}
std::string text_of(const Xielu& xielu) {
  return fmt::format("{} {} {} {}", xielu.alpha_p, xielu.alpha_n, xielu.beta, xielu.eps);
}
std::string text_of(const Mamba2Scales& scales) {
  const auto& [gate, x, b, c, dt, out] = scales;
  return fmt::format("{} {} {} {} {} {}", gate, x, b, c, dt, out);
}
template <class Number>
std::enable_if_t<std::is_arithmetic_v<Number>, std::string> text_of(Number number) {
  return fmt::format("{}", number);
}

// Factors that a file has rounded are printed as 1.
template <class Value>
std::string field_text(const Value& value) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (std::abs(value - 1) <= 1e-6f) return "1";
  }
  return text_of(value);
}

// The kind's name, and its fields that differ from their defaults.
template <class Kind>
std::string kind_text(const Kind& kind) {
  std::vector<std::string> defaults;
  Kind{}.visit([&](const char*, const auto& value) { defaults.push_back(field_text(value)); });
  std::string text = Kind::kName;
  size_t i = 0;
  kind.visit([&](const char* name, const auto& value) {
    const std::string own = field_text(value);
    if (own != defaults[i++]) text += fmt::format(", {} {}", name, own);
  });
  return text;
}

std::string text_of(const LayerConfig& layer) {
  const auto text = [](const auto& kind) { return kind_text(kind); };
  std::string line = fmt::format("{}; {}; norms {}", std::visit(text, layer.mixer), std::visit(text, layer.ffn),
                                 form_of(layer.norm_place).name);
  if (layer.ffn_in_scale != 1.0f) line += fmt::format("; scale before the ffn {}", layer.ffn_in_scale);
  if (!layer.has_mixer_norm) line += "; no norm before the mixer";
  if (layer.out_scale != 1.0f) line += fmt::format("; scale {}", layer.out_scale);
  return line;
}

// One line for each run of equal layers.
std::string layer_lines(const std::vector<LayerConfig>& layers) {
  std::string lines;
  for (size_t first = 0, end = 0; first < layers.size(); first = end) {
    const std::string text = text_of(layers[first]);
    while (end < layers.size() && text_of(layers[end]) == text) ++end;
    lines += end - first == 1 ? fmt::format("layer {}: {}\n", first, text)
                              : fmt::format("layers {} to {}: {}\n", first, end - 1, text);
  }
  return lines;
}

}  // namespace

uint32_t n_outputs(const ModelConfig& config) {
  if (config.n_labels > 0) return config.n_labels;
  return config.is_bidirectional ? config.d_model : config.n_vocab;
}

HeadSizes heads_of(const ModelConfig& config) {
  for (const LayerConfig& layer : config.layers) {
    if (const auto* latent = std::get_if<LatentAttentionConfig>(&layer.mixer)) {
      return {.n_heads = latent->n_heads, .n_kv_heads = 1, .key_dim = latent->key_dim(), .value_dim = 0};
    }
    if (const auto* attention = std::get_if<AttentionConfig>(&layer.mixer)) {
      return {attention->n_heads, attention->n_kv_heads, attention->head_dim, attention->head_dim};
    }
  }
  return {};
}

std::vector<StateLayout> state_layouts(const ModelConfig& config, uint32_t n_ctx) {
  std::vector<StateLayout> layouts;
  for (const LayerConfig& layer : config.layers) {
    layouts.push_back(std::visit([&](const auto& mixer) { return state_layout(mixer, n_ctx); }, layer.mixer));
  }
  return layouts;
}

std::string to_string(const ModelConfig& c) {
  std::string text =
      fmt::format("arch: {}\nname: {}\nn_layers: {}\nd_model: {}\nd_ff: {}\nn_vocab: {}\nn_ctx_train: {}\nn_ctx: {}\n",
                  c.arch, c.name, c.n_layers, c.d_model, c.d_ff, c.n_vocab, c.n_ctx_train, c.n_ctx);
  text += layer_lines(c.layers);
  for (size_t i = 0; i < c.ropes.size(); ++i) {
    // The base is left out: files may give the same frequencies by different bases.
    text += fmt::format("rope {}: {} dimensions, scale {}\n", i, c.ropes[i].n_rot, c.ropes[i].scale);
  }
  text += fmt::format(
      "norm: {}, eps {}\nlearned_positions: {}\nis_head_tied: {}\npooling: {}\nembed_scale: {}\n"
      "residual_scale: {}\nlogit_scale: {}\nfinal_softcap: {}\nd_layer_input: {}\n",
      name_of(c.norm), c.norm_eps, c.learned_positions, c.is_head_tied, text_of(c.pooling), c.embed_scale,
      c.residual_scale, c.logit_scale, c.final_softcap, c.layer_table.d_input);
  if (c.lacks_head) text += "lacks_head: true\n";
  if (c.has_unit_head) text += "has_unit_head: true\n";
  if (c.layer_table.n_vocab != c.n_vocab) text += fmt::format("n_layer_vocab: {}\n", c.layer_table.n_vocab);
  if (c.altup.n_streams > 1) text += fmt::format("n_streams: {}\n", c.altup.n_streams);
  if (c.altup.laurel_rank > 0) text += fmt::format("laurel_rank: {}\n", c.altup.laurel_rank);
  if (c.n_types > 0) text += fmt::format("n_types: {}\n", c.n_types);
  if (c.n_dense > 0) text += fmt::format("n_dense: {}\n", c.n_dense);
  if (c.n_labels > 0) text += fmt::format("n_labels: {}\n", c.n_labels);
  return text;
}

}  // namespace realizar
