// GLM-4 (9B, 2024) and ChatGLM 2 and 3: Llama with half of each head rotated in adjacent pairs, and fused gate and up.
// Folders have the names of transformers' GLM, or those of ChatGLM's own code, which also fuses q, k and v.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kChatglmHfClasses[] = {"GlmForCausalLM"};
constexpr std::string_view kChatGlm2Classes[] = {"ChatGLMModel", "ChatGLMForConditionalGeneration"};

constexpr auto kChatglmTensors =
    joined(kEnds, kAttnNorm, kGgufQkv, kQkvo, optional(kQkvBiases), kFfnNorm, kWGateUp, kWDown);

constexpr auto kChatGlm2Tensors = joined(
    with_hf(kEmbed, "transformer.embedding.word_embeddings.weight"), with_hf(kHead, "transformer.output_layer.weight"),
    with_hf(kFinalNorm, "transformer.encoder.final_layernorm.weight"),
    with_hf(kAttnNorm, "transformer.encoder.layers.{}.input_layernorm.weight"),
    with_hf(kGgufWqkv, "transformer.encoder.layers.{}.self_attention.query_key_value.weight"),
    with_hf(kGgufBqkv, "transformer.encoder.layers.{}.self_attention.query_key_value.bias"), gguf_only(kWq),
    gguf_only(kWk), gguf_only(kWv), optional(gguf_only(kQkvBiases)),
    with_hf(kWo, "transformer.encoder.layers.{}.self_attention.dense.weight"),
    with_hf(kFfnNorm, "transformer.encoder.layers.{}.post_attention_layernorm.weight"),
    with_hf(kWGateUp, "transformer.encoder.layers.{}.mlp.dense_h_to_4h.weight"),
    with_hf(kWDown, "transformer.encoder.layers.{}.mlp.dense_4h_to_h.weight"),
    ignored("transformer.rotary_pos_emb.inv_freq"));

// The first is true in the first ChatGLM, a different model.
constexpr HfFlag kChatGlm2Flags[] = {{"position_encoding_2d", false},
                                     {"add_bias_linear", false},
                                     {"apply_residual_connection_post_layernorm", false},
                                     {"multi_query_attention", true},
                                     {"original_rope", true},
                                     {"post_layer_norm", true},
                                     {"rmsnorm", true}};
constexpr HfNumber kChatGlm2Numbers[] = {{"quantization_bit", 0}};

}  // namespace

const ArchSpec kChatGlm{.name = "chatglm",
                        .hf_classes = kChatglmHfClasses,
                        .tensors = kChatglmTensors,
                        .rope_pairs = RopePairs::kBoth,
                        .hf_rope_share = 0.5};

const ArchSpec kChatGlm2{.name = "chatglm2",
                         .hf_classes = kChatGlm2Classes,
                         .tensors = kChatGlm2Tensors,
                         .rope_pairs = RopePairs::kBoth,
                         .hf_rope_share = 0.5,
                         .hf_flags = kChatGlm2Flags,
                         .hf_numbers = kChatGlm2Numbers,
                         .hf_keys = {.n_layers = "num_layers",
                                     .n_kv_heads = "multi_query_group_num",
                                     .d_ff = "ffn_hidden_size",
                                     .n_ctx = "seq_length",
                                     .norm_eps = "layernorm_epsilon",
                                     .activation = "",
                                     .rope_base = "",
                                     .rope_base_factor = "rope_ratio",
                                     .head_dim = "kv_channels"}};

}  // namespace realizar
