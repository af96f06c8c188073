#include "model/model_config.h"

#include <fmt/format.h>

namespace realizar {
namespace {

const char* name_of(Pooling pooling) {
  switch (pooling) {
    case Pooling::kNone:
      return "none";
    case Pooling::kLast:
      return "last";
    case Pooling::kMean:
      return "mean";
    case Pooling::kFirst:
      return "first";
    case Pooling::kRank:
      return "rank";
    case Pooling::kAll:
      return "all";
  }
  return "";
}

const char* name_of(QkNorm norm) {
  switch (norm) {
    case QkNorm::kNone:
      return "";
    case QkNorm::kHead:
      return ", a norm for the heads of q and one for those of k";
    case QkNorm::kUnitHead:
      return ", a norm without weights for each head of q and k";
    case QkNorm::kOwnHead:
      return ", a norm for each head of q and k";
    case QkNorm::kRow:
      return ", a norm over all heads of q and one over those of k";
  }
  return "";
}

std::string text_of(const AttentionConfig& c) {
  std::string text = fmt::format("attention of {} heads on {} of {} dimensions, scale {}", c.n_heads, c.n_kv_heads,
                                 c.head_dim, c.scale);
  text += c.rope_idx == kNoRope ? ", no rope" : fmt::format(", rope {}", c.rope_idx);
  if (c.n_interleaved > 0) text += fmt::format(", {} interleaved in the file", c.n_interleaved);
  if (c.window > 0) text += fmt::format(", {} {}", c.is_chunked ? "chunks of" : "window", c.window);
  if (c.sees_later) text += ", both ways";
  text += name_of(c.qk_norm);
  if (c.norms_last) text += " after the rotation";
  if (c.out_scale != 1.0f) text += fmt::format(", scaled by {}", c.out_scale);
  if (c.clip > 0) text += fmt::format(", q, k and v within {}", c.clip);
  if (c.alibi > 0) text += fmt::format(", ALiBi {}{}", c.alibi, c.alibi_is_scaled ? " (scaled)" : "");
  if (c.values == Values::kNormed) text += ", values normalized";
  if (c.values == Values::kNormedKeys) text += ", values made of keys";
  if (c.kv_layer != kOwnKv) text += fmt::format(", keys and values of layer {}", c.kv_layer);
  if (c.temperature > 0) text += fmt::format(", temperature {} every {} positions", c.temperature, c.temperature_step);
  if (c.qkv_rows == QkvRows::kByKvHead) text += ", q, k and v by KV head in the file";
  if (c.has_gate) text += ", gated";
  if (c.softcap > 0) text += fmt::format(", softcap {}", c.softcap);
  if (c.has_sinks) text += ", sinks";
  return text;
}

std::string text_of(const LatentAttentionConfig& c) {
  std::string text = fmt::format(
      "attention of {} heads on latents of {} and keys of {}, {} + {} dimensions, values of {}, "
      "scale {}",
      c.n_heads, c.latent_dim, c.n_rot, c.d_nope, c.n_rot, c.d_value, c.scale);
  if (c.q_rank > 0) text += fmt::format(", queries of rank {}", c.q_rank);
  text += c.rope_idx == kNoRope ? ", no rope" : fmt::format(", rope {}", c.rope_idx);
  if (c.is_interleaved) text += ", interleaved in the file";
  if (c.temperature > 0) text += fmt::format(", temperature {} every {} positions", c.temperature, c.temperature_step);
  return text;
}

std::string text_of(const Mamba2Config& c) {
  std::string text = fmt::format("Mamba 2 of {} heads of {} dimensions in {} groups, states of {}, {} taps", c.n_heads,
                                 c.head_dim, c.n_groups, c.d_state, c.n_taps);
  if (!c.has_norm) text += ", no norm";
  const auto& [gate, x, b, c_scale, dt, out] = c.scales;
  if (c.scales != Mamba2Scales{}) {
    text += fmt::format(", scaled by {}, {}, {}, {}, {} and {}", gate, x, b, c_scale, dt, out);
  }
  return text;
}

std::string text_of(const MambaConfig& c) {
  std::string text = fmt::format("Mamba of {} channels, states of {}, time steps of rank {}, {} taps", c.n_inner,
                                 c.d_state, c.dt_rank, c.n_taps);
  if (c.has_norms) text += fmt::format(", norms of what it scans with, eps {}", c.norms_eps);
  return text;
}

std::string text_of(const DeltaNetConfig& c) {
  return fmt::format("gated delta net of {} heads of {} dimensions on {} of {}{}, {} taps", c.n_heads, c.value_dim,
                     c.n_key_heads, c.key_dim, c.key_heads_in_turn ? " in turn" : "", c.n_taps);
}

std::string text_of(const KimiDeltaConfig& c) {
  return fmt::format("delta attention of {} heads of {} dimensions, {} taps", c.n_heads, c.head_dim, c.n_taps);
}

std::string text_of(const ShortConvConfig& c) {
  return fmt::format("short convolution of {}, {} taps", c.n_cols, c.n_taps);
}

std::string text_of(const Rwkv7Config& c) {
  std::string text = fmt::format("RWKV-7 of {} heads of {} dimensions, low ranks of {}, {}, {} and {}, eps {}",
                                 c.n_heads, c.head_dim, c.decay_rank, c.rate_rank, c.v_rank, c.gate_rank, c.norm_eps);
  if (c.is_first) text += ", the first one's values";
  return text;
}

std::string text_of(const ChannelMixConfig& c) {
  return fmt::format("channel mix of {}", c.d_ff);
}

std::string text_of(const GatedConfig& c) {
  std::string text = fmt::format("gated ffn of {}, {}", c.d_ff, name_of(c.activation));
  if (c.n_stds != kNoCut) text += fmt::format(" of gates {} standard deviations above their mean", c.n_stds);
  if (c.out_scale != 1.0f) text += fmt::format(", scaled by {}", c.out_scale);
  return text;
}

std::string text_of(const PlainConfig& c) {
  std::string text = fmt::format("plain ffn of {}, {}", c.d_ff, name_of(c.activation));
  const auto& [alpha_p, alpha_n, beta, eps] = c.xielu;
  if (c.activation == Activation::kXielu) text += fmt::format(" ({}, {}, {}, {})", alpha_p, alpha_n, beta, eps);
  return text;
}

std::string text_of(const ExpertsConfig& c) {
  std::string text = fmt::format("{} of {} experts of {}, {}, renormalize {}, scale {}", c.n_used, c.n_experts, c.d_ff,
                                 name_of(c.activation), c.renormalize, c.scale);
  if (c.score == RouteScore::kSigmoid) text += ", by sigmoids";
  if (c.score == RouteScore::kSparseMixer) text += fmt::format(", by SparseMixer, near within {}", c.near_share);
  if (c.n_groups > 1) {
    text += fmt::format(", from {} of {} groups by their best {}", c.n_used_groups, c.n_groups, c.n_group_best);
  }
  if (c.d_shared_ff > 0)
    text += fmt::format(", one shared of {}{}", c.d_shared_ff, c.has_shared_router ? ", gated" : "");
  if (c.d_latent > 0) text += fmt::format(", behind a latent of {}", c.d_latent);
  if (c.has_biases) text += ", with biases";
  if (c.input == ExpertInput::kRoutedEarly) text += ", chosen before the mixer";
  if (c.input == ExpertInput::kLayerInput) text += ", of what the mixer reads";
  if (c.out_scale != 1.0f) text += fmt::format(", together times {}", c.out_scale);
  if (c.input == ExpertInput::kOwnNorms) text += ", with norms of their own";
  if (!c.has_gates) text += ", without gates";
  if (c.weighs_input) text += ", weighed before them";
  if (c.gate_up_rows == GateUpRows::kPaired) text += ", gate and up paired in the file";
  return text;
}

std::string text_of(const NoFfnConfig&) {
  return "no ffn";
}

std::string text_of(const NoMixerConfig&) {
  return "no mixer";
}

std::string text_of(const LayerConfig& layer) {
  const auto text = [](const auto& kind) { return text_of(kind); };
  std::string line = fmt::format("{}; {}; norms {}", std::visit(text, layer.mixer), std::visit(text, layer.ffn),
                                 form_of(layer.norm_place).name);
  if (layer.ffn_in_scale != 1.0f) line += fmt::format("; scale before the ffn {}", layer.ffn_in_scale);
  if (!layer.has_mixer_norm) line += "; none before the mixer";
  if (layer.out_scale != 1.0f) line += fmt::format("; scale {}", layer.out_scale);
  return line;
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

uint32_t n_outputs(const ModelConfig& config) {
  if (config.n_labels > 0) return config.n_labels;
  return config.sees_later ? config.d_model : config.n_vocab;
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
    // Where a base is stretched, it is spelled in several ways, which all give the frequencies below.
    text += fmt::format("rope {}: {} dimensions, scale {}\n", i, c.ropes[i].n_rot, c.ropes[i].scale);
  }
  text += fmt::format(
      "norm: {}, eps {}\nlearned_positions: {}\nis_head_tied: {}\npooling: {}\nembed_scale: {}\n"
      "residual_scale: {}\nlogit_scale: {}\nfinal_softcap: {}\nd_layer_input: {}\n",
      name_of(c.norm), c.norm_eps, c.learned_positions, c.is_head_tied, name_of(c.pooling), c.embed_scale,
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
