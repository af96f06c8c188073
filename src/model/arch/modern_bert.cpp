// ModernBERT: rotations, norms without biases before each branch (the first layer's mixer reads the embeddings' norm),
// a gated ffn with the exact GELU. The first of every three layers sees the whole text, the others have a window on
// both sides. EuroBERT: a bidirectional Llama.
#include <fmt/format.h>

#include "base/try.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kModernClasses[] = {"ModernBertModel", "ModernBertForMaskedLM"};
constexpr std::string_view kEuroClasses[] = {"EuroBertModel", "EuroBertForMaskedLM"};

constexpr auto kModernTensors = joined(
    with_hf(kEmbed, "model.embeddings.tok_embeddings.weight"), with_hf(kEmbedNorm, "model.embeddings.norm.weight"),
    with_hf(kFinalNorm, "model.final_norm.weight"), optional(with_hf(kAttnNorm, "model.layers.{}.attn_norm.weight")),
    with_hf(kWqkv, "model.layers.{}.attn.Wqkv.weight"), with_hf(kWo, "model.layers.{}.attn.Wo.weight"),
    with_hf(kFfnNorm, "model.layers.{}.mlp_norm.weight"), with_hf(kWGateUp, "model.layers.{}.mlp.Wi.weight"),
    with_hf(kWDown, "model.layers.{}.mlp.Wo.weight"), ignored("decoder.bias"), ignored("decoder.weight"));

constexpr auto kEuroTensors = joined(kEmbed, kFinalNorm, kAttention, kFfnNorm, kGated, ignored("lm_head.weight"));

constexpr HfFlag kModernFlags[] = {{"attention_bias", false}, {"mlp_bias", false}, {"norm_bias", false}};
constexpr HfFlag kEuroFlags[] = {{"attention_bias", false}, {"mlp_bias", false}};

// Reads another activation that GGUF may name.
Status read_gguf_activation(const ConfigKeys& keys, ModelConfig& c) {
  if (!keys.is_gguf()) return {};
  const std::string key = keys.key("hidden_activation", "");
  RZ_TRY(const auto name, keys.file().metadata().get_string(key));
  if (!name || *name == "gelu") return {};
  if (*name != "silu") {
    return unsupported(fmt::format("{}: {}: activation '{}' is not supported for {}", keys.file().path().string(), key,
                                   *name, keys.spec().name));
  }
  change_each<GatedConfig>(c, [](GatedConfig& own) { own.activation = Activation::kSilu; });
  return {};
}

void tell_gguf_activation(const ModelConfig& c, KeyTeller& keys) {
  const auto* gated = std::get_if<GatedConfig>(&c.layers.front().ffn);
  const bool is_silu = gated != nullptr && gated->activation == Activation::kSilu;
  keys.set("hidden_activation", "", std::string(is_silu ? "silu" : "gelu"));
}

}  // namespace

const ArchSpec kModernBert{.name = "modern-bert",
                           .hf_classes = kModernClasses,
                           .tensors = kModernTensors,
                           .norm = NormKind::kLayer,
                           .activation = Activation::kGeluErf,
                           .is_bidirectional = true,
                           .window_rule = WindowRule::kFullFirst,
                           .full_interval = 3,
                           .hf_rope_base = 160000,
                           .window_rope_base = 10000,
                           .hf_norm_eps = 1e-5f,
                           .hf_flags = kModernFlags,
                           .hf_left_out = "head.",
                           .hf_keys = {.n_kv_heads = "",
                                       .norm_eps = "norm_eps",
                                       .activation = "hidden_activation",
                                       .window = "local_attention",
                                       .rope_base = "global_rope_theta",
                                       .head_dim = "",
                                       .window_rope_base = "local_rope_theta",
                                       .full_interval = "global_attn_every_n_layers"},
                           .adjust = read_gguf_activation,
                           .tell = tell_gguf_activation};

const ArchSpec kEuroBert{.name = "eurobert",
                         .hf_classes = kEuroClasses,
                         .tensors = kEuroTensors,
                         .is_bidirectional = true,
                         .hf_rope_base = 250000,
                         .hf_flags = kEuroFlags};

}  // namespace realizar
