// BLOOM: GPT-2 with ALiBi and a norm of the embedding.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kBloomHfClasses[] = {"BloomForCausalLM"};

constexpr auto kBloomTensors =
    joined(with_hf(kEmbed, "transformer.word_embeddings.weight"),
           with_hf(kEmbedNorm, "transformer.word_embeddings_layernorm.weight"),
           with_hf(kEmbedNormBias, "transformer.word_embeddings_layernorm.bias"), kHead,
           with_hf(kFinalNorm, "transformer.ln_f.weight"), with_hf(kFinalNormBias, "transformer.ln_f.bias"),
           with_hf(kAttnNorm, "transformer.h.{}.input_layernorm.weight"),
           with_hf(kAttnNormBias, "transformer.h.{}.input_layernorm.bias"),
           with_hf(kWqkv, "transformer.h.{}.self_attention.query_key_value.weight"),
           with_hf(kBqkv, "transformer.h.{}.self_attention.query_key_value.bias"),
           with_hf(kWo, "transformer.h.{}.self_attention.dense.weight"),
           with_hf(kBo, "transformer.h.{}.self_attention.dense.bias"),
           with_hf(kFfnNorm, "transformer.h.{}.post_attention_layernorm.weight"),
           with_hf(kFfnNormBias, "transformer.h.{}.post_attention_layernorm.bias"),
           with_hf(kWUp, "transformer.h.{}.mlp.dense_h_to_4h.weight"),
           required(with_hf(kUpBias, "transformer.h.{}.mlp.dense_h_to_4h.bias")),
           with_hf(kWDown, "transformer.h.{}.mlp.dense_4h_to_h.weight"),
           required(with_hf(kDownBias, "transformer.h.{}.mlp.dense_4h_to_h.bias")));

constexpr HfFlag kBloomHfFlags[] = {{"apply_residual_connection_post_layernorm", false}};

}  // namespace

const ArchSpec kBloom{.name = "bloom",
                      .hf_classes = kBloomHfClasses,
                      .tensors = kBloomTensors,
                      .norm = NormKind::kLayer,
                      .ffn = FfnKind::kPlain,
                      .activation = Activation::kGelu,
                      .hf_qkv_rows = QkvRows::kByKvHead,
                      .alibi = always(8),
                      .hf_n_ctx = 2048,
                      .hf_flags = kBloomHfFlags,
                      .hf_keys = {.n_layers = "n_layer",
                                  .n_heads = "n_head",
                                  .n_kv_heads = "",
                                  .d_ff = "n_inner",
                                  .n_ctx = "seq_length",
                                  .norm_eps = "layer_norm_epsilon",
                                  .activation = "",
                                  .d_ff_factor = 4}};

}  // namespace realizar
