// GPT-NeoX and Pythia: one norm each for attention and ffn, mostly in parallel; partial rope, fused q, k and v, biases.
#include "base/try.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGptneoxHfClasses[] = {"GPTNeoXForCausalLM"};

constexpr auto kGptneoxTensors = joined(
    with_hf(kEmbed, "gpt_neox.embed_in.weight"), with_hf(kHead, "embed_out.weight"),
    with_hf(kFinalNorm, "gpt_neox.final_layer_norm.weight"), with_hf(kFinalNormBias, "gpt_neox.final_layer_norm.bias"),
    with_hf(kAttnNorm, "gpt_neox.layers.{}.input_layernorm.weight"),
    with_hf(kAttnNormBias, "gpt_neox.layers.{}.input_layernorm.bias"),
    with_hf(kWqkv, "gpt_neox.layers.{}.attention.query_key_value.weight"),
    with_hf(kGgufBqkv, "gpt_neox.layers.{}.attention.query_key_value.bias"),
    with_hf(kWo, "gpt_neox.layers.{}.attention.dense.weight"),
    optional(with_hf(kBo, "gpt_neox.layers.{}.attention.dense.bias")),
    with_hf(kFfnNorm, "gpt_neox.layers.{}.post_attention_layernorm.weight"),
    with_hf(kFfnNormBias, "gpt_neox.layers.{}.post_attention_layernorm.bias"),
    with_hf(kWUp, "gpt_neox.layers.{}.mlp.dense_h_to_4h.weight"),
    required(with_hf(kUpBias, "gpt_neox.layers.{}.mlp.dense_h_to_4h.bias")),
    with_hf(kWDown, "gpt_neox.layers.{}.mlp.dense_4h_to_h.weight"),
    required(with_hf(kDownBias, "gpt_neox.layers.{}.mlp.dense_4h_to_h.bias")),
    ignored("gpt_neox.layers.{}.attention.bias"), ignored("gpt_neox.layers.{}.attention.masked_bias"),
    ignored("gpt_neox.layers.{}.attention.rotary_emb.inv_freq"));

// If this setting is false, the branches follow each other.
constexpr std::string_view kParallelKey = "use_parallel_residual";

Status read_parallel(const ConfigKeys& keys, ModelConfig& c) {
  RZ_TRY(const auto is_parallel, keys.file().metadata().get_bool(keys.key(kParallelKey, kParallelKey)));
  for (LayerConfig& layer : c.layers) {
    if (!is_parallel.value_or(true)) layer.norm_place = NormPlace::kPre;
  }
  return {};
}

void tell_parallel(const ModelConfig& c, KeyTeller& keys) {
  keys.set(kParallelKey, kParallelKey, c.layers.front().norm_place != NormPlace::kPre);
}

}  // namespace

const ArchSpec kGptNeoX{.name = "gptneox",
                        .hf_classes = kGptneoxHfClasses,
                        .tensors = kGptneoxTensors,
                        .norm = NormKind::kLayer,
                        .norm_place = NormPlace::kParallelApart,
                        .ffn = FfnKind::kPlain,
                        .activation = Activation::kGelu,
                        .hf_qkv_rows = QkvRows::kByKvHead,
                        .hf_rope_share = 0.25,
                        .hf_keys = {.n_kv_heads = "",
                                    .norm_eps = "layer_norm_eps",
                                    .rope_base = "rotary_emb_base",
                                    .rope_share = "rotary_pct",
                                    .default_activation = Activation::kGeluErf},
                        .adjust = read_parallel,
                        .tell = tell_parallel};

}  // namespace realizar
