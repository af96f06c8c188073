#include "model/model_config.h"

#include <fmt/format.h>

namespace realizar {
namespace {

const char* name_of(NormPlace place) {
  switch (place) {
    case NormPlace::kPre:
      return "before each branch";
    case NormPlace::kSandwich:
      return "before and after each branch";
    case NormPlace::kParallel:
      return "one for mixer and ffn in parallel";
  }
  return "";
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "none";
    case Activation::kSilu:
      return "silu";
    case Activation::kGelu:
      return "gelu (tanh)";
    case Activation::kGeluErf:
      return "gelu (erf)";
    case Activation::kRelu:
      return "relu";
    case Activation::kReluSquared:
      return "relu squared";
  }
  return "";
}

std::string text_of(const AttentionConfig& c) {
  std::string text = fmt::format("attention of {} heads on {} of {} dimensions, scale {}", c.n_heads, c.n_kv_heads,
                                 c.head_dim, c.scale);
  text += c.rope_idx == kNoRope ? ", no rope" : fmt::format(", rope {}", c.rope_idx);
  if (c.n_interleaved > 0) text += fmt::format(", {} interleaved in the file", c.n_interleaved);
  if (c.window > 0) text += fmt::format(", window {}", c.window);
  if (c.qk_norm) text += ", norms of q and k";
  if (c.softcap > 0) text += fmt::format(", softcap {}", c.softcap);
  return text;
}

std::string text_of(const GatedConfig& c) {
  return fmt::format("gated ffn of {}, {}", c.d_ff, name_of(c.activation));
}

std::string text_of(const PlainConfig& c) {
  return fmt::format("plain ffn of {}, {}", c.d_ff, name_of(c.activation));
}

std::string text_of(const ExpertsConfig& c) {
  return fmt::format("{} of {} experts of {}, {}, renormalize {}, scale {}", c.n_used, c.n_experts, c.d_ff,
                     name_of(c.activation), c.renormalize, c.scale);
}

std::string text_of(const LayerConfig& layer) {
  const auto text = [](const auto& kind) { return text_of(kind); };
  return fmt::format("{}; {}; norms {}", std::visit(text, layer.mixer), std::visit(text, layer.ffn),
                     name_of(layer.norm_place));
}

// A line for each run of layers that are alike.
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

const AttentionConfig& attention_of(const ModelConfig& config) {
  return std::get<AttentionConfig>(config.layers.front().mixer);
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
    text += fmt::format("rope {}: {} dimensions, scale {}\n", i, c.ropes[i].n_rot, c.ropes[i].scale);
  }
  text += fmt::format(
      "norm: {}, eps {}\nlearned_positions: {}\nis_head_tied: {}\npools_mean: {}\nembed_scale: {}\nfinal_softcap: {}\n",
      c.norm == NormKind::kRms ? "rms" : "layer", c.norm_eps, c.learned_positions, c.is_head_tied, c.pools_mean,
      c.embed_scale, c.final_softcap);
  return text;
}

}  // namespace realizar
