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
      return "one for attention and ffn in parallel";
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

// One letter a layer: r rope, n no position encoding; w after it: sliding window.
std::string layer_pattern(const ModelConfig& c) {
  std::string pattern;
  for (const LayerConfig& layer : c.layers) {
    pattern += layer.rope ? 'r' : 'n';
    if (layer.window > 0) pattern += 'w';
  }
  return pattern;
}

}  // namespace

std::string to_string(const ModelConfig& c) {
  uint32_t window = 0;
  for (const LayerConfig& layer : c.layers) window = layer.window > 0 ? layer.window : window;
  std::string text = fmt::format(
      "arch: {}\nname: {}\nn_layers: {}\nd_model: {}\nn_heads: {}\nn_kv_heads: {}\nhead_dim: {}\nd_ff: {}\nn_vocab: "
      "{}\n"
      "n_ctx_train: {}\nlayers: {} (r rope, n no position, w window)\nwindow: {}\nnorm: {} {}, eps {}\nqk_norm: {}\n"
      "activation: {}\n",
      c.arch, c.name, c.n_layers, c.d_model, c.n_heads, c.n_kv_heads, c.head_dim, c.d_ff, c.n_vocab, c.n_ctx_train,
      layer_pattern(c), window, c.norm == NormKind::kRms ? "rms" : "layer", name_of(c.norm_place), c.norm_eps,
      c.qk_norm, name_of(c.activation));
  text += c.learned_positions ? "positions: learned\n"
                              : fmt::format("rope: {} dimensions, scale {}, {}\n", c.rope.n_rot, c.rope.scale,
                                            c.rope.interleaved ? "rows interleaved in the file" : "rows in halves");
  if (c.moe.n_experts > 0) {
    text += fmt::format("experts: {} of {}, d_ff {}, renormalize {}, scale {}\n", c.moe.n_used, c.moe.n_experts,
                        c.moe.d_ff, c.moe.renormalize, c.moe.scale);
  }
  text += fmt::format("embed_scale: {}\nattn_scale: {}\nattn_softcap: {}\nfinal_softcap: {}\n", c.embed_scale,
                      c.attn_scale, c.attn_softcap, c.final_softcap);
  return text;
}

}  // namespace realizar
