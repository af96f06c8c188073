// Gemma 3 and its encoder (EmbeddingGemma): Gemma 2's norms, with norms of q and k instead of softcaps. Five of six
// layers have a sliding window and another rotation base; the sixth sees the whole context.
#include "model/arch/gemma_layers.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGemma3HfClasses[] = {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"};
constexpr std::string_view kEmbeddingClasses[] = {"Gemma3TextModel"};

constexpr auto kGemma3Tensors =
    joined(kEnds, kAttention, kQkNorms, kSandwichAttnPostNorm, kSandwichFfnNorm, kGated, kSandwichFfnPostNorm);

// Two more products follow the pooling; sentence-transformers stores each in a separate folder.
constexpr auto kEmbeddingTensors = joined(
    kEmbed, kFinalNorm, kAttention, kQkNorms, kSandwichAttnPostNorm, kSandwichFfnNorm, kGated, kSandwichFfnPostNorm,
    whole(Role::kDenseUp, kOptional, Dim::kDense, Dim::kModel, "dense_2.weight", "2_Dense.linear.weight"),
    whole(Role::kDenseDown, kOptional, Dim::kModel, Dim::kDense, "dense_3.weight", "3_Dense.linear.weight"));
constexpr HfFlag kEmbeddingFlags[] = {{"use_bidirectional_attention", true}};

// transformers, Gemma3TextConfig
constexpr Default kGemma3Defaults[] = {{.hf = "num_attention_heads", .value = 8},
                                       {.hf = "num_key_value_heads", .value = 4},
                                       {.hf = "head_dim", .value = 256},
                                       {.hf = "query_pre_attn_scalar", .value = 256}};
constexpr Default kEmbeddingDefaults[] = {{.hf = "query_pre_attn_scalar", .value = 256}};

// GGUF has no key for this; only the 27B model has it (the paper's table 1).
Status scale_gemma3_27b(const ConfigKeys& keys, ModelConfig& c) {
  if (keys.is_gguf() && c.n_layers == 62) scale_by_width(c);
  return {};
}

}  // namespace

const ArchSpec kGemmaEmbedding{.name = "gemma-embedding",
                               .hf_classes = kEmbeddingClasses,
                               .tensors = kEmbeddingTensors,
                               .norm_place = NormPlace::kSandwich,
                               .activation = Activation::kGelu,
                               .qk_norm = QkNorm::kHead,
                               .is_bidirectional = true,
                               .embed_scale = kRootOfWidth,
                               .hf_norm_plus_one = true,
                               .window_rule = WindowRule::kByInterval,
                               .full_interval = 6,
                               .hf_rope_base = 1000000,
                               .window_rope_base = 10000,
                               .hf_norm_eps = 1e-6f,
                               .defaults = kEmbeddingDefaults,
                               .hf_flags = kEmbeddingFlags,
                               .hf_keys = {.activation = "hidden_activation", .attn_dims = "query_pre_attn_scalar"}};

const ArchSpec kGemma3{.name = "gemma3",
                       .hf_classes = kGemma3HfClasses,
                       .tensors = kGemma3Tensors,
                       .norm_place = NormPlace::kSandwich,
                       .activation = Activation::kGelu,
                       .qk_norm = QkNorm::kHead,
                       .embed_scale = kRootOfWidth,
                       .hf_norm_plus_one = true,
                       .window_rule = WindowRule::kByInterval,
                       .full_interval = 6,
                       // transformers, Gemma3TextConfig; llama.cpp, LLM_ARCH_GEMMA3
                       .hf_rope_base = 1000000,
                       .window_rope_base = 10000,
                       .softcaps = Need::kOptional,
                       .hf_n_ctx = 131072,
                       .hf_norm_eps = 1e-6f,
                       .defaults = kGemma3Defaults,
                       .hf_keys = {.activation = "hidden_activation", .attn_dims = "query_pre_attn_scalar"},
                       .adjust = scale_gemma3_27b};

}  // namespace realizar
