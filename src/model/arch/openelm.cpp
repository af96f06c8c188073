// OpenELM: Llama with norms of q and k, whose layers have more heads and wider ffns the later they come.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kOpenelmHfClasses[] = {"OpenELMForCausalLM"};

constexpr auto kOpenelmTensors =
    joined(with_hf(kEmbed, "transformer.token_embeddings.weight"), with_hf(kFinalNorm, "transformer.norm.weight"),
           with_hf(kAttnNorm, "transformer.layers.{}.attn_norm.weight"),
           with_hf(kWqkv, "transformer.layers.{}.attn.qkv_proj.weight"),
           with_hf(kQNorm, "transformer.layers.{}.attn.q_norm.weight"),
           with_hf(kKNorm, "transformer.layers.{}.attn.k_norm.weight"),
           with_hf(kWo, "transformer.layers.{}.attn.out_proj.weight"),
           with_hf(kFfnNorm, "transformer.layers.{}.ffn_norm.weight"), gguf_only(kWGate), gguf_only(kWUp),
           hf_only(kWGateUp, "transformer.layers.{}.ffn.proj_1.weight"),
           with_hf(kWDown, "transformer.layers.{}.ffn.proj_2.weight"));

constexpr HfFlag kOpenelmHfFlags[] = {
    {"ffn_with_glu", true}, {"normalize_qk_projections", true}, {"share_input_output_layers", true}};

}  // namespace

const ArchSpec kOpenElm{.name = "openelm",
                        .hf_classes = kOpenelmHfClasses,
                        .tensors = kOpenelmTensors,
                        .qk_norm = QkNorm::kHead,
                        .has_layer_heads = true,
                        .hf_norm_eps = 1e-6f,
                        .hf_flags = kOpenelmHfFlags,
                        .hf_keys = {.d_model = "model_dim",
                                    .n_layers = "num_transformer_layers",
                                    .n_heads = "num_query_heads",
                                    .n_kv_heads = "num_kv_heads",
                                    .d_ff = "",
                                    .n_ctx = "max_context_length",
                                    .activation = "activation_fn_name",
                                    .rope_base = "rope_freq_constant",
                                    .d_ff_factors = "ffn_multipliers",
                                    .d_ff_step = "ffn_dim_divisor"}};

}  // namespace realizar
