// Families as Hugging Face has them: the weights of each conformance model in a folder, under the names, the order of
// rows and the config.json that transformers gives them, compute what the GGUF file computes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "model/config_reader.h"
#include "quant/blocks.h"
#include "quant/half.h"
#include "support/reference_logits.h"
#include "support/safetensors_writer.h"
#include "support/test_data.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Family {
  const char* name;    // of the conformance model
  const char* config;  // its config.json
  // Before the name of each tensor, where a model has parts for images too; "": none.
  const char* prefix = "";
  float tolerance = 1e-4f;  // of the range of the logits
};

void PrintTo(const Family& family, std::ostream* out) {
  *out << family.name;
}

const Family kFamilies[] = {
    {"gemma", R"({"architectures": ["GemmaForCausalLM"], "hidden_size": 64, "intermediate_size": 80,
                  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 32,
                  "max_position_embeddings": 4096, "rms_norm_eps": 0.002, "hidden_act": "gelu",
                  "hidden_activation": null, "rope_theta": 10000.0, "attention_bias": false})"},
    {"falcon", R"({"architectures": ["FalconForCausalLM"], "hidden_size": 64, "ffn_hidden_size": 80,
                   "num_hidden_layers": 2, "num_attention_heads": 4, "num_kv_heads": 4, "multi_query": true,
                   "new_decoder_architecture": false, "parallel_attn": true, "bias": false, "alibi": false,
                   "activation": "gelu_pytorch_tanh", "layer_norm_epsilon": 0.02})"},
    {"gptneox", R"({"architectures": ["GPTNeoXForCausalLM"], "hidden_size": 64, "intermediate_size": 80,
                    "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 4096,
                    "layer_norm_eps": 0.02, "hidden_act": "gelu_new", "rotary_pct": 0.5, "rotary_emb_base": 10000,
                    "use_parallel_residual": true, "tie_word_embeddings": false})"},
    {"starcoder2", R"({"architectures": ["Starcoder2ForCausalLM"], "hidden_size": 64, "intermediate_size": 80,
                       "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                       "max_position_embeddings": 4096, "norm_epsilon": 0.02, "hidden_act": "gelu_pytorch_tanh",
                       "rope_theta": 100000.0, "use_bias": true, "sliding_window": 4096})"},
    {"stablelm", R"({"architectures": ["StableLmForCausalLM"], "hidden_size": 64, "intermediate_size": 80,
                     "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                     "max_position_embeddings": 4096, "layer_norm_eps": 0.02, "hidden_act": "silu",
                     "rope_theta": 10000, "partial_rotary_factor": 0.25, "use_qkv_bias": true,
                     "use_parallel_residual": false, "qk_layernorm": false})"},
    {"olmo2", R"({"architectures": ["Olmo2ForCausalLM"], "hidden_size": 64, "intermediate_size": 80,
                  "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 4096,
                  "rms_norm_eps": 0.002, "hidden_act": "silu", "rope_theta": 500000, "rope_scaling": null})"},
    {"granite", R"({"architectures": ["GraniteForCausalLM"], "hidden_size": 64, "intermediate_size": 80,
                    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                    "max_position_embeddings": 4096, "rms_norm_eps": 0.02, "hidden_act": "silu", "rope_theta": 10000,
                    "embedding_multiplier": 3.0, "residual_multiplier": 0.7, "attention_multiplier": 0.1875,
                    "logits_scaling": 0.75, "tie_word_embeddings": true})"},
    {"command-r", R"({"architectures": ["CohereForCausalLM"], "hidden_size": 64, "intermediate_size": 80,
                      "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                      "max_position_embeddings": 4096, "layer_norm_eps": 0.02, "hidden_act": "silu",
                      "rope_theta": 8000000.0, "logit_scale": 0.5, "use_qk_norm": false})"},
    {"glm4", R"({"architectures": ["Glm4ForCausalLM"], "hidden_size": 64, "intermediate_size": 80, "head_dim": 16,
                 "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                 "max_position_embeddings": 4096, "rms_norm_eps": 0.02, "hidden_act": "silu", "rope_theta": 10000.0,
                 "partial_rotary_factor": 0.5, "attention_bias": true, "tie_word_embeddings": false})"},
    {"olmo3", R"({"architectures": ["Olmo3ForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                  "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4,
                  "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu", "rope_theta": 50000,
                  "sliding_window": 16, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention",
                  "full_attention"], "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                  "original_max_position_embeddings": 32}, "tie_word_embeddings": false})"},
    {"cohere2", R"({"architectures": ["Cohere2ForCausalLM"], "hidden_size": 32, "intermediate_size": 48, "head_dim": 8,
                    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
                    "max_position_embeddings": 4096, "layer_norm_eps": 0.001, "hidden_act": "silu",
                    "rope_theta": 50000, "sliding_window": 16, "sliding_window_pattern": 4, "logit_scale": 0.5})"},
    {"internlm2", R"({"architectures": ["InternLM2ForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                      "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                      "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                      "rope_theta": 50000, "rope_scaling": {"type": "dynamic", "factor": 2.0}, "bias": false,
                      "tie_word_embeddings": false})"},
    {"minicpm", R"({"architectures": ["MiniCPMForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                    "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu", "scale_emb": 3,
                    "scale_depth": 0.98994949, "dim_model_base": 64, "tie_word_embeddings": false})"},
    {"baichuan", R"({"architectures": ["BaiChuanForCausalLM"], "hidden_size": 16, "intermediate_size": 16,
                     "num_hidden_layers": 32, "num_attention_heads": 2, "max_position_embeddings": 4096,
                     "rms_norm_eps": 0.001, "hidden_act": "silu", "tie_word_embeddings": false})"},
    {"baichuan-13b", R"({"architectures": ["BaichuanForCausalLM"], "hidden_size": 8, "intermediate_size": 8,
                         "num_hidden_layers": 40, "num_attention_heads": 2, "model_max_length": 4096,
                         "rms_norm_eps": 0.001, "hidden_act": "silu", "tie_word_embeddings": false})"},
    {"exaone", R"({"architectures": ["ExaoneForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                   "num_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                   "max_position_embeddings": 4096, "layer_norm_epsilon": 0.001, "activation_function": "silu",
                   "rope_theta": 50000, "tie_word_embeddings": false})"},
    {"exaone4", R"({"architectures": ["Exaone4ForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                    "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                    "sliding_window": null, "tie_word_embeddings": false})"},
    {"nemotron", R"({"architectures": ["NemotronForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                     "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                     "max_position_embeddings": 4096, "norm_eps": 0.001, "hidden_act": "relu2",
                     "tie_word_embeddings": false})"},
    {"seed-oss", R"({"architectures": ["SeedOssForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                     "head_dim": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                     "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                     "attention_bias": true, "tie_word_embeddings": false})"},
    {"arcee", R"({"architectures": ["ArceeForCausalLM"], "hidden_size": 32, "intermediate_size": 48, "head_dim": 8,
                  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                  "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "relu2", "rope_theta": 50000,
                  "tie_word_embeddings": false})"},
    {"ernie4_5", R"({"architectures": ["Ernie4_5ForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                     "head_dim": 8, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                     "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                     "rope_theta": 10000, "use_bias": true, "tie_word_embeddings": false})"},
    {"orion", R"({"architectures": ["OrionForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                  "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                  "tie_word_embeddings": false})"},
    {"xverse", R"({"architectures": ["XverseForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                   "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 4096,
                   "rms_norm_eps": 0.001, "hidden_act": "silu", "tie_word_embeddings": false})"},
    {"qwen", R"({"architectures": ["QWenLMHeadModel"], "hidden_size": 32, "intermediate_size": 96,
                 "num_hidden_layers": 2, "num_attention_heads": 4, "seq_length": 4096, "layer_norm_epsilon": 0.001,
                 "rotary_emb_base": 10000, "tie_word_embeddings": false})"},
    {"starcoder", R"({"architectures": ["GPTBigCodeForCausalLM"], "n_embd": 32, "n_inner": 48, "n_layer": 2,
                      "n_head": 4, "n_positions": 64, "layer_norm_epsilon": 0.001, "multi_query": true,
                      "activation_function": "gelu_pytorch_tanh", "tie_word_embeddings": false})"},
    {"codeshell", R"({"architectures": ["CodeShellForCausalLM"], "n_embd": 32, "n_inner": 48, "n_layer": 2,
                      "n_head": 4, "num_query_groups": 2, "n_positions": 4096, "layer_norm_epsilon": 0.001,
                      "activation_function": "gelu_pytorch_tanh", "tie_word_embeddings": false})"},
    {"chatglm", R"({"architectures": ["GlmForCausalLM"], "hidden_size": 32, "intermediate_size": 48, "head_dim": 8,
                    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                    "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                    "partial_rotary_factor": 0.5, "attention_bias": true, "tie_word_embeddings": false})"},
    {"falcon-40b", R"({"architectures": ["FalconForCausalLM"], "hidden_size": 32, "ffn_hidden_size": 48,
                       "num_hidden_layers": 2, "num_attention_heads": 4, "num_kv_heads": 2, "multi_query": true,
                       "new_decoder_architecture": true, "bias": false, "alibi": false,
                       "activation": "gelu_pytorch_tanh", "layer_norm_epsilon": 0.001,
                       "tie_word_embeddings": false})"},
    {"stablelm-12b", R"({"architectures": ["StableLmForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                         "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                         "max_position_embeddings": 4096, "layer_norm_eps": 0.001, "hidden_act": "silu",
                         "rope_theta": 10000, "partial_rotary_factor": 0.5, "use_parallel_residual": true,
                         "qk_layernorm": true, "tie_word_embeddings": false})"},
    {"olmo", R"({"architectures": ["OlmoForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                 "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "clip_qkv": 0.8,
                 "max_position_embeddings": 4096, "hidden_act": "silu", "tie_word_embeddings": false})"},
    {"hunyuan-dense", R"({"architectures": ["HunYuanDenseV1ForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                          "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
                          "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                          "rope_theta": 10000.0, "rope_scaling": {"type": "dynamic", "alpha": 5.0, "factor": 1.0},
                          "tie_word_embeddings": false})"},
    {"mistral3", R"({"architectures": ["Ministral3ForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                     "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
                     "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                     "rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 50000.0, "mscale": 1.0,
                     "mscale_all_dim": 1.0, "original_max_position_embeddings": 16, "llama_4_scaling_beta": 0.3},
                     "tie_word_embeddings": false})"},
    {"mistral3", R"({"architectures": ["Mistral3ForConditionalGeneration"], "model_type": "mistral3",
                     "text_config": {"model_type": "ministral3", "hidden_size": 32, "intermediate_size": 48,
                     "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
                     "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                     "rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 50000.0, "mscale": 1.0,
                     "mscale_all_dim": 1.0, "original_max_position_embeddings": 16, "llama_4_scaling_beta": 0.3},
                     "tie_word_embeddings": false}, "vision_config": {"hidden_size": 1024}})",
     "language_model."},
    {"llama-ffn-biases", R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                             "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                             "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                             "rope_theta": 10000, "attention_bias": true, "mlp_bias": true,
                             "tie_word_embeddings": false})"},
    {"gemma4", R"({"architectures": ["Gemma4ForCausalLM"], "hidden_size": 32, "intermediate_size": 24,
                   "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
                   "num_global_key_value_heads": 1, "global_head_dim": 16, "num_kv_shared_layers": 0,
                   "hidden_size_per_layer_input": 0, "max_position_embeddings": 4096, "rms_norm_eps": 0.001,
                   "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 16,
                   "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
                   "rope_parameters": {"full_attention": {"rope_type": "proportional", "rope_theta": 50000.0,
                   "partial_rotary_factor": 0.25}, "sliding_attention": {"rope_type": "default",
                   "rope_theta": 10000.0}}, "attention_k_eq_v": true, "final_logit_softcapping": 30.0,
                   "tie_word_embeddings": false})"},
    {"gemma4-e2b", R"({"architectures": ["Gemma4ForConditionalGeneration"], "text_config": {"hidden_size": 32,
                       "intermediate_size": 24, "num_hidden_layers": 4, "num_attention_heads": 4,
                       "num_key_value_heads": 1, "head_dim": 8, "num_global_key_value_heads": null,
                       "global_head_dim": 16, "num_kv_shared_layers": 2, "use_double_wide_mlp": true,
                       "hidden_size_per_layer_input": 8, "max_position_embeddings": 4096, "rms_norm_eps": 0.001,
                       "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 16,
                   "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
                   "rope_parameters": {"full_attention":
                       {"rope_type": "proportional", "rope_theta": 50000.0, "partial_rotary_factor": 0.25},
                       "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}},
                       "final_logit_softcapping": 30.0}, "tie_word_embeddings": false})",
     "language_model."},
    {"bloom", R"({"architectures": ["BloomForCausalLM"], "hidden_size": 32, "n_inner": 48, "n_layer": 2, "n_head": 4,
                  "seq_length": 4096, "layer_norm_epsilon": 0.001, "apply_residual_connection_post_layernorm": false,
                  "tie_word_embeddings": false})"},
    {"mpt", R"({"architectures": ["MPTForCausalLM"], "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 4096,
                "attn_config": {"alibi": true, "alibi_bias_max": 8, "clip_qkv": 0.8, "qk_ln": false},
                "tie_word_embeddings": false})",
     "", 5e-4f},  // GGUF's files stand for the tanh form of GELU, folders for the exact one
    {"apertus", R"({"architectures": ["ApertusForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                    "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "xielu",
                    "rope_theta": 50000.0, "tie_word_embeddings": false})"},
    {"gptneox-serial", R"({"architectures": ["GPTNeoXForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                           "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 4096,
                           "layer_norm_eps": 0.001, "hidden_act": "gelu_fast", "rotary_pct": 0.5,
                           "use_parallel_residual": false, "tie_word_embeddings": false})"},
    {"qwen35", R"({"architectures": ["Qwen3_5ForCausalLM"], "hidden_size": 32, "intermediate_size": 48, "head_dim": 8,
                   "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
                   "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                   "rope_parameters": {"rope_type": "default", "rope_theta": 50000, "partial_rotary_factor": 0.5},
                   "layer_types": ["linear_attention", "full_attention", "linear_attention"],
                   "linear_num_value_heads": 4, "linear_value_head_dim": 8, "linear_num_key_heads": 2,
                   "linear_key_head_dim": 8, "linear_conv_kernel_dim": 4, "attention_bias": false,
                   "attn_output_gate": true, "tie_word_embeddings": false})"},
    {"qwen35", R"({"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5",
                   "text_config": {"model_type": "qwen3_5_text", "hidden_size": 32, "intermediate_size": 48,
                   "head_dim": 8, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
                   "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                   "rope_parameters": {"rope_type": "default", "rope_theta": 50000, "partial_rotary_factor": 0.5,
                   "mrope_section": [1, 1, 0]}, "full_attention_interval": 2,
                   "linear_num_value_heads": 4, "linear_value_head_dim": 8, "linear_num_key_heads": 2,
                   "linear_key_head_dim": 8, "linear_conv_kernel_dim": 4, "tie_word_embeddings": false}})",
     "language_model."},
    {"qwen3next", R"({"architectures": ["Qwen3NextForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                      "head_dim": 8, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                      "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                      "rope_theta": 50000, "partial_rotary_factor": 0.5, "full_attention_interval": 2,
                      "linear_num_value_heads": 4, "linear_value_head_dim": 8, "linear_num_key_heads": 2,
                      "linear_key_head_dim": 8, "linear_conv_kernel_dim": 4, "num_experts": 4,
                      "num_experts_per_tok": 2, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 20,
                      "norm_topk_prob": true, "decoder_sparse_step": 1, "mlp_only_layers": [],
                      "tie_word_embeddings": false})"},
    {"lfm2", R"({"architectures": ["Lfm2ForCausalLM"], "hidden_size": 32, "block_ff_dim": 72,
                 "intermediate_size": 72, "block_auto_adjust_ff_dim": true, "block_ffn_dim_multiplier": 1.0,
                 "block_multiple_of": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
                 "max_position_embeddings": 4096, "norm_eps": 0.001, "rope_theta": 50000, "conv_L_cache": 4,
                 "conv_bias": false, "layer_types": ["conv", "full_attention", "conv"]})"},
    {"lfm2moe", R"({"architectures": ["Lfm2MoeForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                    "max_position_embeddings": 4096, "norm_eps": 0.001, "rope_theta": 50000, "conv_L_cache": 4,
                    "conv_bias": false, "full_attn_idxs": [1], "num_experts": 4, "num_experts_per_tok": 2,
                    "moe_intermediate_size": 16, "num_dense_layers": 0, "norm_topk_prob": true,
                    "use_expert_bias": true, "routed_scaling_factor": 1.0})"},
    {"mamba2", R"({"architectures": ["Mamba2ForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2,
                   "num_heads": 8, "head_dim": 16, "n_groups": 2, "state_size": 16, "conv_kernel": 4, "expand": 2,
                   "layer_norm_epsilon": 1e-5, "use_bias": false, "use_conv_bias": true, "hidden_act": "silu",
                   "time_step_limit": [0.0, Infinity], "tie_word_embeddings": true})"},
    {"mamba", R"({"architectures": ["MambaForCausalLM"], "model_type": "mamba", "hidden_size": 32,
                  "intermediate_size": 64, "num_hidden_layers": 2, "state_size": 8, "conv_kernel": 4, "expand": 2,
                  "time_step_rank": 4, "layer_norm_epsilon": 0.001, "use_bias": false, "use_conv_bias": true,
                  "hidden_act": "silu", "tie_word_embeddings": false})"},
    {"falcon-mamba", R"({"architectures": ["FalconMambaForCausalLM"], "model_type": "falcon_mamba",
                         "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "state_size": 8,
                         "conv_kernel": 4, "expand": 2, "time_step_rank": 4, "layer_norm_epsilon": 0.001,
                         "mixer_rms_eps": 0.001, "use_bias": false, "use_conv_bias": true, "hidden_act": "silu",
                         "tie_word_embeddings": false})"},
    {"granitehybrid", R"({"architectures": ["GraniteMoeHybridForCausalLM"], "hidden_size": 32,
                          "intermediate_size": 16, "shared_intermediate_size": 48, "num_hidden_layers": 3,
                          "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096,
                          "rms_norm_eps": 0.001, "hidden_act": "silu", "position_embedding_type": "nope",
                          "rope_theta": 10000, "layer_types": ["mamba", "attention", "mamba"], "mamba_n_heads": 8,
                          "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 8, "mamba_d_conv": 4,
                          "mamba_expand": 2, "mamba_conv_bias": true, "mamba_proj_bias": false,
                          "embedding_multiplier": 3.0, "residual_multiplier": 0.7, "attention_multiplier": 0.3,
                          "logits_scaling": 2.0, "num_local_experts": 0, "num_experts_per_tok": 0,
                          "tie_word_embeddings": true})"},
    {"granitehybrid-moe", R"({"architectures": ["GraniteMoeHybridForCausalLM"], "hidden_size": 32,
                              "intermediate_size": 16, "shared_intermediate_size": 20, "num_hidden_layers": 2,
                              "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096,
                              "rms_norm_eps": 0.001, "hidden_act": "silu", "position_embedding_type": "rope",
                              "rope_theta": 10000, "layer_types": ["mamba", "attention"], "mamba_n_heads": 8,
                              "mamba_d_head": 8, "mamba_n_groups": 2, "mamba_d_state": 8, "mamba_d_conv": 4,
                              "mamba_expand": 2, "mamba_conv_bias": true, "mamba_proj_bias": false,
                              "residual_multiplier": 0.7, "num_local_experts": 4, "num_experts_per_tok": 2,
                              "tie_word_embeddings": true})"},
    {"nemotron-h", R"({"architectures": ["NemotronHForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                       "num_hidden_layers": 4, "hybrid_override_pattern": "M-M*", "num_attention_heads": 4,
                       "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 4096,
                       "layer_norm_epsilon": 0.001, "mlp_hidden_act": "relu2", "mamba_num_heads": 8,
                       "mamba_head_dim": 8, "n_groups": 2, "ssm_state_size": 8, "conv_kernel": 4, "expand": 2,
                       "use_bias": false, "use_conv_bias": true, "mlp_bias": false, "attention_bias": false,
                       "tie_word_embeddings": false})"},
    {"nemotron-h-moe", R"({"architectures": ["NemotronHForCausalLM"], "hidden_size": 32, "intermediate_size": 16,
                           "num_hidden_layers": 4,
                           "layers_block_type": ["mamba", "moe", "linear_attention", "full_attention"],
                           "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
                           "max_position_embeddings": 4096, "layer_norm_epsilon": 0.001, "mlp_hidden_act": "relu2",
                           "mamba_num_heads": 8, "mamba_head_dim": 8, "n_groups": 2, "ssm_state_size": 8,
                           "conv_kernel": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1,
                           "moe_intermediate_size": 16, "moe_shared_expert_intermediate_size": 20,
                           "moe_latent_size": null, "norm_topk_prob": true, "routed_scaling_factor": 2.5,
                           "n_group": 1, "topk_group": 1, "tie_word_embeddings": false})"},
    {"jamba", R"({"architectures": ["JambaForCausalLM"], "hidden_size": 32, "intermediate_size": 16,
                  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
                  "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                  "attn_layer_offset": 1, "attn_layer_period": 2, "expert_layer_offset": 1,
                  "expert_layer_period": 2, "num_experts": 3, "num_experts_per_tok": 2, "mamba_d_state": 8,
                  "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 4, "mamba_conv_bias": true,
                  "mamba_proj_bias": false, "tie_word_embeddings": false})"},
    {"falcon-h1", R"({"architectures": ["FalconH1ForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                      "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
                      "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                      "rope_theta": 50000.0, "mamba_d_ssm": 48, "mamba_n_heads": 6, "mamba_d_head": 8,
                      "mamba_n_groups": 1, "mamba_d_state": 8, "mamba_d_conv": 4, "mamba_expand": 2,
                      "mamba_conv_bias": true, "mamba_proj_bias": false, "mamba_rms_norm": true,
                      "mamba_norm_before_gate": false, "projectors_bias": false, "embedding_multiplier": 2.0,
                      "lm_head_multiplier": 0.5, "attention_in_multiplier": 0.8, "attention_out_multiplier": 1.25,
                      "key_multiplier": 0.4, "ssm_in_multiplier": 1.5, "ssm_out_multiplier": 0.25,
                      "ssm_multipliers": [0.5, 0.25, 0.75, 2.0, 1.25], "mlp_multipliers": [0.6, 0.3],
                      "tie_word_embeddings": false})"},
    {"deepseek2-lite", R"({"architectures": ["DeepseekV2ForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                           "num_hidden_layers": 27, "num_attention_heads": 2, "num_key_value_heads": 2,
                           "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "hidden_act": "silu",
                           "rope_theta": 10000, "q_lora_rank": null, "kv_lora_rank": 16, "qk_nope_head_dim": 16,
                           "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 3, "num_experts_per_tok": 2,
                           "n_shared_experts": 1, "moe_intermediate_size": 16, "first_k_dense_replace": 1,
                           "moe_layer_freq": 1, "routed_scaling_factor": 1.0, "norm_topk_prob": false, "n_group": 1,
                           "scoring_func": "softmax", "topk_method": "greedy", "topk_group": 1,
                           "attention_bias": false, "tie_word_embeddings": false,
                           "rope_scaling": {"type": "yarn", "factor": 8, "beta_fast": 32, "beta_slow": 1,
                                            "mscale": 0.707, "mscale_all_dim": 0.707,
                                            "original_max_position_embeddings": 32}})"},
    {"deepseek2-mla", R"({"architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 64, "intermediate_size": 96,
                          "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
                          "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "hidden_act": "silu",
                          "rope_theta": 10000, "q_lora_rank": 48, "kv_lora_rank": 32, "qk_nope_head_dim": 32,
                          "qk_rope_head_dim": 16, "v_head_dim": 24, "n_routed_experts": 8, "num_experts_per_tok": 3,
                          "n_shared_experts": 1, "moe_intermediate_size": 32, "first_k_dense_replace": 1,
                          "moe_layer_freq": 1, "routed_scaling_factor": 2.5, "norm_topk_prob": true, "n_group": 1,
                          "topk_method": "noaux_tc", "topk_group": 1, "num_nextn_predict_layers": 1,
                          "attention_bias": false, "tie_word_embeddings": false,
                          "rope_scaling": {"type": "yarn", "factor": 8, "beta_fast": 32, "beta_slow": 1,
                                           "mscale": 1.0, "mscale_all_dim": 1.0,
                                           "original_max_position_embeddings": 32}})"},
    {"gpt-oss", R"({"architectures": ["GptOssForCausalLM"], "hidden_size": 64, "intermediate_size": 32, "head_dim": 32,
                    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                    "max_position_embeddings": 4096, "rms_norm_eps": 0.02, "hidden_act": "silu", "rope_theta": 150000,
                    "attention_bias": true, "sliding_window": 16, "swiglu_limit": 7.0, "num_local_experts": 4,
                    "num_experts_per_tok": 2, "layer_types": ["sliding_attention", "full_attention"],
                    "tie_word_embeddings": false,
                    "rope_scaling": {"rope_type": "yarn", "factor": 32, "beta_fast": 32, "beta_slow": 1,
                                     "truncate": true, "original_max_position_embeddings": 32}})"},
    {"glm4-moe", R"({"architectures": ["Glm4MoeForCausalLM"], "hidden_size": 32, "intermediate_size": 40, "head_dim": 8,
                     "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                     "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu", "rope_theta": 10000,
                     "partial_rotary_factor": 0.5, "attention_bias": true, "use_qk_norm": true, "n_routed_experts": 6,
                     "num_experts_per_tok": 2, "n_shared_experts": 1, "moe_intermediate_size": 16,
                     "first_k_dense_replace": 1, "routed_scaling_factor": 1.5, "norm_topk_prob": true, "n_group": 1,
                     "topk_group": 1, "num_nextn_predict_layers": 1, "tie_word_embeddings": false})"},
    {"olmoe", R"({"architectures": ["OlmoeForCausalLM"], "hidden_size": 32, "intermediate_size": 16,
                  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
                  "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu", "rope_theta": 10000,
                  "clip_qkv": null, "num_experts": 6, "num_experts_per_tok": 2, "norm_topk_prob": false,
                  "tie_word_embeddings": false})"},
    {"granitemoe", R"({"architectures": ["GraniteMoeSharedForCausalLM"], "hidden_size": 32, "intermediate_size": 16,
                       "shared_intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
                       "num_key_value_heads": 2, "max_position_embeddings": 4096, "rms_norm_eps": 0.001,
                       "hidden_act": "silu", "rope_theta": 10000, "embedding_multiplier": 3.0,
                       "residual_multiplier": 0.7, "attention_multiplier": 0.3, "logits_scaling": 2.0,
                       "num_local_experts": 6, "num_experts_per_tok": 2, "tie_word_embeddings": false})"},
    {"deepseek", R"({"architectures": ["DeepseekForCausalLM"], "hidden_size": 32, "intermediate_size": 40,
                     "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                     "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu", "rope_theta": 10000,
                     "n_routed_experts": 6, "num_experts_per_tok": 2, "n_shared_experts": 2,
                     "moe_intermediate_size": 16, "first_k_dense_replace": 1, "moe_layer_freq": 1,
                     "norm_topk_prob": false, "scoring_func": "softmax", "attention_bias": false,
                     "tie_word_embeddings": false})"},
    {"ernie4_5-moe", R"({"architectures": ["Ernie4_5_MoeForCausalLM"], "hidden_size": 32, "intermediate_size": 40,
                         "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                         "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                         "rope_theta": 10000, "moe_num_experts": 6, "moe_k": 2, "moe_num_shared_experts": 2,
                         "moe_intermediate_size": 16, "moe_layer_start_index": 1, "moe_layer_end_index": 1,
                         "moe_layer_interval": 1, "use_bias": true, "tie_word_embeddings": false})"},
    {"dots1", R"({"architectures": ["Dots1ForCausalLM"], "hidden_size": 32, "intermediate_size": 40,
                  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
                  "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu", "rope_theta": 10000,
                  "n_routed_experts": 6, "num_experts_per_tok": 2, "n_shared_experts": 2, "moe_intermediate_size": 16,
                  "first_k_dense_replace": 1, "routed_scaling_factor": 2.5, "norm_topk_prob": true,
                  "scoring_func": "noaux_tc", "attention_bias": false, "tie_word_embeddings": false})"},
    {"bailingmoe2", R"({"architectures": ["BailingMoeV2ForCausalLM"], "hidden_size": 32, "intermediate_size": 40,
                        "head_dim": 8, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                        "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                        "rope_theta": 10000, "partial_rotary_factor": 0.5, "num_experts": 6,
                        "num_experts_per_tok": 2, "num_shared_experts": 2, "moe_intermediate_size": 16,
                        "first_k_dense_replace": 1, "routed_scaling_factor": 2.5, "norm_topk_prob": true,
                        "score_function": "sigmoid", "n_group": 3, "topk_group": 2, "use_qkv_bias": false,
                        "use_bias": false, "use_qk_norm": true, "tie_word_embeddings": false})"},
    {"llama4", R"({"architectures": ["Llama4ForCausalLM"], "hidden_size": 32, "intermediate_size": 16,
                   "intermediate_size_mlp": 24, "num_hidden_layers": 4, "num_attention_heads": 4,
                   "num_key_value_heads": 1, "head_dim": 8, "max_position_embeddings": 4096, "rms_norm_eps": 0.001,
                   "hidden_act": "silu", "rope_theta": 10000, "attention_bias": false, "use_qk_norm": true,
                   "num_local_experts": 4, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
                   "moe_layers": [1, 3], "no_rope_layers": [1, 1, 1, 0], "attention_chunk_size": 8192,
                   "attn_temperature_tuning": 4, "floor_scale": 8192, "attn_scale": 0.1,
                   "tie_word_embeddings": false})"},
    {"llama4",
     R"({"architectures": ["Llama4ForConditionalGeneration"], "text_config": {"hidden_size": 32, "intermediate_size": 16,
                   "intermediate_size_mlp": 24, "num_hidden_layers": 4, "num_attention_heads": 4,
                   "num_key_value_heads": 1, "head_dim": 8, "max_position_embeddings": 4096, "rms_norm_eps": 0.001,
                   "hidden_act": "silu", "rope_theta": 10000, "attention_bias": false, "use_qk_norm": true,
                   "num_local_experts": 4, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
                   "moe_layers": [1, 3], "no_rope_layers": [1, 1, 1, 0], "attention_chunk_size": 8192,
                   "attn_temperature_tuning": 4, "floor_scale": 8192, "attn_scale": 0.1,
                   "tie_word_embeddings": false}})",
     "language_model."},
    {"hunyuan-moe", R"({"architectures": ["HunYuanMoEV1ForCausalLM"], "hidden_size": 32, "intermediate_size": 16,
                        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
                        "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                        "rope_theta": 10000.0, "num_experts": 6, "moe_topk": [2, 2], "num_shared_expert": [1, 1],
                        "moe_intermediate_size": [16, 16], "use_cla": false, "use_qk_norm": true,
                        "tie_word_embeddings": false})"},
    {"minimax-m2", R"({"architectures": ["MiniMaxM2ForCausalLM"], "hidden_size": 32, "intermediate_size": 16,
                       "head_dim": 8, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                       "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu",
                       "rope_theta": 10000, "rotary_dim": 4, "num_local_experts": 6, "num_experts_per_tok": 2,
                       "scoring_func": "sigmoid", "use_qk_norm": true, "tie_word_embeddings": false})"},
    {"gemma4-moe", R"({"architectures": ["Gemma4ForConditionalGeneration"], "text_config": {"hidden_size": 32,
                       "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
                       "num_key_value_heads": 2, "head_dim": 8, "num_global_key_value_heads": 1,
                       "global_head_dim": 16, "num_kv_shared_layers": 0, "hidden_size_per_layer_input": 0,
                       "max_position_embeddings": 4096, "rms_norm_eps": 0.001,
                       "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 16,
                       "layer_types": ["sliding_attention", "full_attention"], "rope_parameters": {"full_attention":
                       {"rope_type": "proportional", "rope_theta": 50000.0, "partial_rotary_factor": 0.25},
                       "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}},
                       "attention_k_eq_v": true, "enable_moe_block": true, "num_experts": 4, "top_k_experts": 2,
                       "moe_intermediate_size": 16, "final_logit_softcapping": 30.0},
                       "tie_word_embeddings": false})",
     "language_model."},
    {"afmoe", R"({"architectures": ["AfmoeForCausalLM"], "hidden_size": 24, "intermediate_size": 20, "head_dim": 8,
                  "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
                  "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu", "rope_theta": 10000,
                  "sliding_window": 16, "layer_types": ["sliding_attention", "sliding_attention",
                  "sliding_attention", "full_attention"], "num_experts": 3, "num_experts_per_tok": 2,
                  "num_shared_experts": 1, "num_dense_layers": 1, "moe_intermediate_size": 12, "route_norm": true,
                  "route_scale": 2.5, "score_func": "sigmoid", "mup_enabled": true, "n_group": 1, "topk_group": 1,
                  "tie_word_embeddings": false})"},
    {"smallthinker", R"({"architectures": ["SmallThinkerForCausalLM"], "hidden_size": 24, "head_dim": 8,
                         "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 2,
                         "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "rope_theta": 10000,
                         "sliding_window_size": 4096, "sliding_window_layout": [0, 1, 1, 1, 0],
                         "rope_layout": [0, 1, 1, 1, 0], "moe_ffn_hidden_size": 12, "moe_num_primary_experts": 3,
                         "moe_num_active_primary_experts": 2, "moe_primary_router_apply_softmax": false,
                         "tie_word_embeddings": false})"},
    {"arctic", R"({"architectures": ["ArcticForCausalLM"], "hidden_size": 32, "intermediate_size": 16,
                   "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                   "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu", "rope_theta": 10000,
                   "num_local_experts": 4, "num_experts_per_tok": 2, "moe_layer_frequency": 1, "use_residual": true,
                   "parallel_attn_mlp_res": true, "tie_word_embeddings": false})"},
    {"mistral4", R"({"architectures": ["Mistral3ForConditionalGeneration"], "text_config": {"model_type": "mistral4",
                     "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
                     "num_key_value_heads": 4, "max_position_embeddings": 4096, "rms_norm_eps": 0.001,
                     "hidden_act": "silu", "q_lora_rank": 12, "kv_lora_rank": 16, "qk_nope_head_dim": 4,
                     "qk_rope_head_dim": 4, "v_head_dim": 6, "n_routed_experts": 4, "num_experts_per_tok": 2,
                     "n_shared_experts": 1, "moe_intermediate_size": 16, "first_k_dense_replace": 0, "n_group": 1,
                     "topk_group": 1, "norm_topk_prob": true, "routed_scaling_factor": 1.0, "rope_interleave": true,
                     "rope_parameters": {"type": "yarn", "rope_type": "yarn", "factor": 8.0, "rope_theta": 10000.0,
                     "original_max_position_embeddings": 16, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0,
                     "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.3, "partial_rotary_factor": 0.5},
                     "attention_bias": false, "tie_word_embeddings": false}})",
     "language_model."},
    {"refact", R"({"architectures": ["GPTRefactForCausalLM"], "n_embd": 48, "n_layer": 2, "n_head": 6,
                   "n_positions": 4096, "layer_norm_epsilon": 0.001, "multi_query": true, "block_ff_dim": 48,
                   "block_auto_adjust_ff_dim": false, "tie_word_embeddings": false})"},
    {"bitnet", R"({"architectures": ["BitNetForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                   "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
                   "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu", "rope_theta": 10000,
                   "tie_word_embeddings": true})"},
    {"dbrx", R"({"architectures": ["DbrxForCausalLM"], "d_model": 32, "n_layers": 2, "n_heads": 4,
                 "max_seq_len": 4096, "layer_norm_epsilon": 0.001, "attn_config": {"clip_qkv": 0.8, "kv_n_heads": 2,
                 "rope_theta": 10000}, "ffn_config": {"ffn_act_fn": {"name": "silu"}, "ffn_hidden_size": 16,
                 "moe_num_experts": 6, "moe_top_k": 2, "moe_normalize_expert_weights": 1.0},
                 "tie_word_embeddings": false})"},
    {"minicpm3", R"({"architectures": ["MiniCPM3ForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                     "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
                     "max_position_embeddings": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu", "scale_emb": 12,
                     "scale_depth": 1.4, "dim_model_base": 256, "q_lora_rank": 12, "kv_lora_rank": 16,
                     "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6, "tie_word_embeddings": false})"},
    {"kimi-linear", R"({"architectures": ["KimiLinearForCausalLM"], "hidden_size": 32, "intermediate_size": 48,
                        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
                        "model_max_length": 4096, "rms_norm_eps": 0.001, "hidden_act": "silu", "q_lora_rank": null,
                        "kv_lora_rank": 16, "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "v_head_dim": 8,
                        "mla_use_nope": true, "linear_attn_config": {"full_attn_layers": [2], "kda_layers": [1],
                        "head_dim": 8, "num_heads": 4, "short_conv_kernel_size": 4}, "num_experts": 4,
                        "num_experts_per_token": 2, "num_shared_experts": 1, "moe_intermediate_size": 16,
                        "first_k_dense_replace": 0, "moe_layer_freq": 1, "moe_renormalize": true,
                        "moe_router_activation_func": "sigmoid", "routed_scaling_factor": 1.5, "num_expert_group": 1,
                        "topk_group": 1, "tie_word_embeddings": false})"},
};

// A tensor's rows, of one element each where it is a vector.
struct Rows {
  std::vector<uint64_t> shape;
  std::vector<float> values;

  Rows in_order(const std::vector<uint32_t>& order) const {
    const size_t n = values.size() / shape[0];
    Rows rows{shape, {}};
    for (const uint32_t from : order) {
      rows.values.insert(rows.values.end(), values.begin() + from * n, values.begin() + (from + 1) * n);
    }
    return rows;
  }
};

// What GGUF has apart, and the tensor that it is in a folder.
struct Fusion {
  Role whole;
  std::vector<Role> parts;
  bool is_of_each = false;  // expert, or head
};
const Fusion kFusions[] = {
    {Role::kWqkv, {Role::kWq, Role::kWk, Role::kWv}},
    {Role::kWkv, {Role::kWk, Role::kWv}},
    {Role::kWGateUp, {Role::kWGate, Role::kWUp}},
    {Role::kSharedGateUp, {Role::kSharedGate, Role::kSharedUp}},
    {Role::kExpertGateUp, {Role::kExpertGate, Role::kExpertUp}, true},
    {Role::kExpertGateUpBias, {Role::kExpertGateBias, Role::kExpertUpBias}, true},
    {Role::kLatentKv, {Role::kLatentK, Role::kLatentV}, true},
};

// What Hugging Face's folder has in the place of GGUF's file.
class HfWriter {
 public:
  // Some matrices in another type, or in F32 with the values that they have there.
  enum class Form { kF32, kMxfp4, kMxfp4InF32, kF8, kF8InF32 };

  HfWriter(const ModelFile& gguf, const ArchSpec& spec, const AttentionConfig& attention,
           const DeltaNetConfig& delta_net, Form form, std::string prefix, json config)
      : gguf_(gguf),
        spec_(spec),
        attention_(attention),
        delta_net_(delta_net),
        form_(form),
        prefix_(std::move(prefix)),
        config_(std::move(config)) {}

  // A vector of further layers, which predict tokens further ahead.
  void add_left_out(const std::string& name) { weights_.add(name, "F32", {2}, std::as_bytes(std::span(kLeftOut))); }

  void write(const fs::path& path) {
    for (const TensorInfo& tensor : gguf_.tensors()) add(tensor);
    add_xielu();
    if (!prefix_.empty()) {
      const std::vector<float> values(4);
      weights_.add("vision_tower.patch_conv.weight", "F32", {2, 2}, std::as_bytes(std::span(values)));
      weights_.add("model.visual.pos_embed.weight", "F32", {2, 2}, std::as_bytes(std::span(values)));
    }
    weights_.write(path);
  }

 private:
  // Numbers that GGUF has as keys.
  void add_xielu() {
    const std::pair<Role, const char*> kNumbers[] = {{Role::kXieluAlphaP, "xielu.alpha_p"},
                                                     {Role::kXieluAlphaN, "xielu.alpha_n"},
                                                     {Role::kXieluBeta, "xielu.beta"},
                                                     {Role::kXieluEps, "xielu.eps"}};
    for (const auto& [role, key] : kNumbers) {
      const auto spec = std::ranges::find(spec_.tensors, role, &TensorSpec::role);
      if (spec == spec_.tensors.end()) continue;
      const auto number = static_cast<float>(gguf_.metadata().get_double(key)->value());
      for (const char* layer : {"0", "1"}) {
        std::string name(spec->hf);
        weights_.add(name.replace(name.find("{}"), 2, layer), "F32", {1}, std::as_bytes(std::span(&number, 1)));
      }
    }
  }

  void add(const TensorInfo& tensor) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto digits = std::find_if(tensor.name.begin(), tensor.name.end(), is_digit);
    const auto end = std::find_if_not(digits, tensor.name.end(), is_digit);
    const std::string layer(digits, end);
    const std::string pattern =
        layer.empty() ? std::string(tensor.name)
                      : std::string(tensor.name.begin(), digits) + "{}" + std::string(end, tensor.name.end());
    const auto spec = std::ranges::find(spec_.tensors, pattern, &TensorSpec::gguf);
    ASSERT_NE(spec, spec_.tensors.end()) << tensor.name;
    if (spec->role == Role::kRopeFactors) return;  // config.json tells them
    const auto is_in_hf = [role = spec->role](const TensorSpec& t) { return t.role == role && t.gguf.empty(); };
    if (const auto other = std::ranges::find_if(spec_.tensors, is_in_hf); other != spec_.tensors.end()) {
      return add_flat(tensor, std::string(other->hf), layer);
    }
    Rows rows = as_in_hf({{tensor.shape.begin(), tensor.shape.end()}, *read_vector(tensor)}, spec->role);
    if (spec_.hf_has_multipliers) take_out_factors(rows, spec->role);
    if (!spec->hf.empty()) return put(std::string(spec->hf), layer, std::move(rows));
    std::map<Role, Rows>& parts = parts_[layer];
    parts[spec->role] = std::move(rows);
    for (const Fusion& fusion : kFusions) {
      const auto has = [&parts](Role role) { return parts.contains(role); };
      if (!std::ranges::all_of(fusion.parts, has)) continue;
      const auto whole = std::ranges::find(spec_.tensors, fusion.whole, &TensorSpec::role);
      ASSERT_NE(whole, spec_.tensors.end()) << pattern;
      put(std::string(whole->hf), layer, fused(fusion, parts));
      for (const Role role : fusion.parts) parts.erase(role);
    }
  }

  void put(std::string name, const std::string& layer, Rows rows) {
    if (!layer.empty()) name.replace(name.find("{}"), 2, layer);
    name = prefix_ + name;
    // ERNIE's, which are a matrix of one row.
    if (name.find("moe_statics") != std::string::npos) rows.shape.insert(rows.shape.begin(), 1);
    const bool is_stack = rows.shape.size() == 3;
    if (is_stack && form_ == Form::kMxfp4) return put_mxfp4(name, rows);
    if (is_stack && form_ == Form::kMxfp4InF32) rows = in_mxfp4(rows);
    const bool is_flat = is_stack && spec_.hf_flat_experts;
    if (is_stack && (spec_.hf_transposed_experts || (is_flat && name.ends_with(".w2")))) rows = turned(rows);
    if (is_flat) rows.shape = {rows.shape[0] * rows.shape[1], rows.shape[2]};
    const size_t at = name.find("{}");
    if (at == std::string::npos) return put_one(name, rows);
    const std::vector<uint64_t> shape(rows.shape.begin() + 1, rows.shape.end());
    const size_t n = rows.values.size() / rows.shape[0];
    for (uint64_t i = 0; i < rows.shape[0]; ++i) {
      std::string own = name;
      weights_.add(own.replace(at, 2, std::to_string(i)), "F32", shape,
                   std::as_bytes(std::span(rows.values).subspan(i * n, n)));
    }
  }

  // A vector where GGUF has its parts as the rows of a matrix.
  void add_flat(const TensorInfo& tensor, std::string name, const std::string& layer) {
    const auto values = *read_vector(tensor);
    weights_.add(name.replace(name.find("{}"), 2, layer), "F32", {values.size()}, std::as_bytes(std::span(values)));
  }

  void put_one(const std::string& name, const Rows& rows) {
    const bool is_f8 = name.ends_with("kv_b_proj.weight") && (form_ == Form::kF8 || form_ == Form::kF8InF32);
    if (!is_f8) return weights_.add(name, "F32", rows.shape, std::as_bytes(std::span(rows.values)));
    // A scale for each block of 128 x 128: of these matrices one a block of rows.
    std::vector<float> scales, values(rows.values.size());
    std::vector<std::byte> codes(rows.values.size());
    for (uint64_t row = 0; row < rows.shape[0]; row += 128) scales.push_back(0.01f / static_cast<float>(1 + row / 128));
    for (size_t i = 0; i < values.size(); ++i) {
      const float scale = scales[i / rows.shape[1] / 128];
      const uint8_t code = float_to_f8_e4m3(rows.values[i] / scale);
      codes[i] = std::byte{code};
      values[i] = f8_e4m3_to_float(code) * scale;
    }
    if (form_ == Form::kF8InF32) return weights_.add(name, "F32", rows.shape, std::as_bytes(std::span(values)));
    weights_.add(name, "F8_E4M3", rows.shape, codes);
    weights_.add(name + "_scale_inv", "F32", {scales.size(), 1}, std::as_bytes(std::span(scales)));
  }

  static std::vector<BlockMXFP4> mxfp4_blocks(const Rows& rows) {
    std::vector<BlockMXFP4> blocks(rows.values.size() / 32);
    traits(TypeId::kMXFP4).encode(rows.values.data(), reinterpret_cast<std::byte*>(blocks.data()), rows.values.size());
    return blocks;
  }

  static Rows in_mxfp4(Rows rows) {
    const auto blocks = mxfp4_blocks(rows);
    traits(TypeId::kMXFP4)
        .decode(reinterpret_cast<const std::byte*>(blocks.data()), rows.values.data(), rows.values.size());
    return rows;
  }

  // Codes [.., in / 32, 16], the even column's the lower nibble, and scales [.., in / 32].
  void put_mxfp4(const std::string& name, const Rows& rows) {
    std::vector<std::byte> codes, scales;
    for (const BlockMXFP4& block : mxfp4_blocks(rows)) {
      const auto code = [&block](uint32_t i) { return i < 16 ? block.qs[i] & 15 : block.qs[i - 16] >> 4; };
      for (uint32_t i = 0; i < 32; i += 2) codes.push_back(static_cast<std::byte>(code(i) | code(i + 1) << 4));
      scales.push_back(static_cast<std::byte>(block.e));
    }
    std::vector<uint64_t> shape = rows.shape;
    shape.back() /= 32;
    weights_.add(name + "_scales", "U8", shape, scales);
    shape.push_back(16);
    weights_.add(name + "_blocks", "U8", shape, codes);
  }

  Rows fused(const Fusion& fusion, std::map<Role, Rows>& parts) const {
    const uint64_t n_wholes = fusion.is_of_each ? parts.at(fusion.parts[0]).shape[0] : 1;
    if (fusion.whole == Role::kLatentKv) parts[Role::kLatentK] = turned(parts[Role::kLatentK]);
    Rows whole{parts.at(fusion.parts[0]).shape, {}};
    uint64_t& n_rows = whole.shape[fusion.is_of_each ? 1 : 0];
    n_rows = 0;
    for (const Role role : fusion.parts) n_rows += parts.at(role).shape[fusion.is_of_each ? 1 : 0];
    for (uint64_t i = 0; i < n_wholes; ++i) {
      for (const Role role : fusion.parts) {
        const std::vector<float>& values = parts.at(role).values;
        const auto n = static_cast<ptrdiff_t>(values.size() / n_wholes), first = static_cast<ptrdiff_t>(i) * n;
        whole.values.insert(whole.values.end(), values.begin() + first, values.begin() + first + n);
      }
    }
    if (fusion.whole == Role::kWqkv && spec_.hf_qkv_rows == QkvRows::kByKvHead) return whole.in_order(by_kv_head());
    const bool is_gate_up = fusion.whole == Role::kExpertGateUp || fusion.whole == Role::kExpertGateUpBias;
    if (is_gate_up && spec_.hf_gate_up_rows == GateUpRows::kPaired) return paired(whole);
    // A latent's rows of all heads are one matrix.
    if (fusion.whole == Role::kLatentKv) whole.shape = {whole.shape[0] * whole.shape[1], whole.shape[2]};
    return whole;
  }

  // Each of a stack's matrices with its halves' rows in turn.
  static Rows paired(const Rows& rows) {
    const uint64_t n_rows = rows.shape[1], n = rows.values.size() / rows.shape[0] / n_rows;
    Rows result{rows.shape, {}};
    for (uint64_t i = 0; i < rows.shape[0] * n_rows; ++i) {
      const uint64_t row = i % n_rows, from = i - row + row / 2 + row % 2 * (n_rows / 2);
      const auto first = rows.values.begin() + static_cast<ptrdiff_t>(from * n);
      result.values.insert(result.values.end(), first, first + static_cast<ptrdiff_t>(n));
    }
    return result;
  }

  // Each of a stack's matrices turned over.
  static Rows turned(const Rows& rows) {
    const uint64_t n_rows = rows.shape[1], n_cols = rows.shape[2];
    Rows result{{rows.shape[0], n_cols, n_rows}, std::vector<float>(rows.values.size())};
    for (uint64_t i = 0; i < rows.values.size(); ++i) {
      const uint64_t mat = i / (n_rows * n_cols), row = i / n_cols % n_rows, col = i % n_cols;
      result.values[(mat * n_cols + col) * n_rows + row] = rows.values[i];
    }
    return result;
  }

  Rows as_in_hf(Rows rows, Role role) const {
    const bool is_norm = role == Role::kAttnNorm || role == Role::kFfnNorm || role == Role::kFinalNorm ||
                         role == Role::kQNorm || role == Role::kKNorm || role == Role::kAttnPostNorm ||
                         role == Role::kFfnPostNorm;
    if (is_norm && spec_.hf_norm_plus_one) {
      for (float& value : rows.values) value -= 1.0f;
    }
    if (role == Role::kSsmOut && spec_.gguf_key_heads_in_turn) rows = with_columns_by_key_head(rows);
    if (const auto n = rows_of_key_heads(role, rows.shape[0])) rows = rows.in_order(by_key_head(*n, rows.shape[0]));
    if (role == Role::kSsmA) {
      for (float& value : rows.values) value = std::log(-value);
    }
    if (role == Role::kSsmA || role == Role::kSsmD) std::erase(rows.shape, 1u);
    if (role == Role::kSsmConv) rows.shape.insert(rows.shape.begin() + 1, 1);
    const bool is_turned = spec_.gguf_interleaved_rope && !spec_.hf_interleaved_rope;
    if (is_turned && (role == Role::kWq || role == Role::kBq)) return rows.in_order(halves(attention_.n_heads));
    if (is_turned && (role == Role::kWk || role == Role::kBk)) return rows.in_order(halves(attention_.n_kv_heads));
    const bool is_fused = role == Role::kWqkv || role == Role::kBqkv;
    if (is_fused && spec_.hf_qkv_rows == QkvRows::kByKvHead) return rows.in_order(by_kv_head());
    return rows;
  }

  // GGUF's weights have config.json's factors in them.
  void take_out_factors(Rows& rows, Role role) const {
    const auto number = [this](const char* key) { return config_.at(key).get<double>(); };
    const auto divide = [&](uint64_t first, uint64_t n, double factor) {
      const size_t n_cols = rows.values.size() / rows.shape[0];
      for (size_t i = first * n_cols; i < (first + n) * n_cols; ++i) {
        rows.values[i] = static_cast<float>(rows.values[i] / factor);
      }
    };
    const double attn_in = number("attention_in_multiplier"), scan_in = number("ssm_in_multiplier");
    const auto parts = config_.at("ssm_multipliers").get<std::vector<double>>();
    const auto ffn = config_.at("mlp_multipliers").get<std::vector<double>>();
    const std::map<Role, double> factors = {{Role::kEmbed, number("embedding_multiplier")},
                                            {Role::kHead, number("lm_head_multiplier")},
                                            {Role::kWq, attn_in},
                                            {Role::kWk, attn_in * number("key_multiplier")},
                                            {Role::kWv, attn_in},
                                            {Role::kWo, number("attention_out_multiplier")},
                                            {Role::kSsmOut, number("ssm_out_multiplier")},
                                            {Role::kWGate, ffn[0]},
                                            {Role::kWDown, ffn[1]}};
    if (const auto factor = factors.find(role); factor != factors.end()) divide(0, rows.shape[0], factor->second);
    if (role != Role::kSsmIn) return;
    const uint64_t n_inner = config_.at("mamba_d_ssm"), n_heads = config_.at("mamba_n_heads"),
                   n_group_cols =
                       config_.at("mamba_n_groups").get<uint64_t>() * config_.at("mamba_d_state").get<uint64_t>();
    const uint64_t sizes[] = {n_inner, n_inner, n_group_cols, n_group_cols, n_heads};
    uint64_t first = 0;
    for (size_t i = 0; i < parts.size(); first += sizes[i++]) divide(first, sizes[i], scan_in * parts[i]);
  }

  // How many of the rows come before those of the values' heads, where GGUF has the heads of a delta net in turn.
  std::optional<uint64_t> rows_of_key_heads(Role role, uint64_t n_rows) const {
    if (!spec_.gguf_key_heads_in_turn) return std::nullopt;
    const uint64_t n_keys = uint64_t{2} * delta_net_.n_keys();
    if (role == Role::kDeltaQkv || role == Role::kSsmConv) return n_keys;
    const bool is_of_values = n_rows == delta_net_.n_values() || n_rows == delta_net_.n_heads;
    const bool has_heads = role == Role::kDeltaGate || role == Role::kDeltaBeta || role == Role::kDeltaDecay ||
                           role == Role::kSsmA || role == Role::kSsmDtBias;
    return has_heads && is_of_values ? std::optional<uint64_t>(0) : std::nullopt;
  }

  // GGUF's row of each row: heads that share a key head are side by side.
  std::vector<uint32_t> by_key_head(uint64_t first, uint64_t n_rows) const {
    const auto n_heads = delta_net_.n_heads, n_keys = delta_net_.n_key_heads, n_each = n_heads / n_keys;
    const auto dim = static_cast<uint32_t>((n_rows - first) / n_heads);
    std::vector<uint32_t> order(n_rows);
    for (uint32_t row = 0; row < n_rows; ++row) {
      const auto at = static_cast<uint32_t>(row - first);
      const uint32_t head = at / dim, from = head % n_each * n_keys + head / n_each;
      order[row] = row < first ? row : static_cast<uint32_t>(first + from * dim + at % dim);
    }
    return order;
  }

  Rows with_columns_by_key_head(const Rows& rows) const {
    const auto order = by_key_head(0, rows.shape[1]);
    Rows turned = rows;
    for (size_t i = 0; i < rows.values.size(); ++i) {
      turned.values[i] = rows.values[i / order.size() * order.size() + order[i % order.size()]];
    }
    return turned;
  }

  // GGUF's row of each row: its pairs (2i, 2i + 1) are halves in Hugging Face's files.
  std::vector<uint32_t> halves(uint32_t n_heads) const {
    const uint32_t dim = attention_.head_dim;
    std::vector<uint32_t> order(n_heads * dim);
    for (uint32_t row = 0; row < order.size(); ++row) {
      const uint32_t i = row % dim;
      order[row] = row - i + (i < dim / 2 ? 2 * i : 2 * (i - dim / 2) + 1);
    }
    return order;
  }

  std::vector<uint32_t> by_kv_head() const {
    const uint32_t dim = attention_.head_dim, n_q = attention_.n_heads * dim, n_kv = attention_.n_kv_heads * dim;
    const uint32_t unit = n_q / attention_.n_kv_heads;
    std::vector<uint32_t> order;
    for (uint32_t h = 0; h < attention_.n_kv_heads; ++h) {
      for (uint32_t i = 0; i < unit; ++i) order.push_back(h * unit + i);
      for (uint32_t i = 0; i < dim; ++i) order.push_back(n_q + h * dim + i);
      for (uint32_t i = 0; i < dim; ++i) order.push_back(n_q + n_kv + h * dim + i);
    }
    return order;
  }

  const ModelFile& gguf_;
  const ArchSpec& spec_;
  const AttentionConfig attention_;
  const DeltaNetConfig delta_net_;
  const Form form_;
  const std::string prefix_;
  const json config_;
  static constexpr float kLeftOut[] = {1, 2};
  std::map<std::string, std::map<Role, Rows>> parts_;  // of a layer, until all of a fused tensor are there
  test::SafetensorsWriter weights_;
};

// The folder of a conformance model, in the test's own folder for temporary files.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(fs::path(testing::TempDir()) / ("realizar_hf_" + name + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  void write(const ModelFile& gguf, const std::string& config, HfWriter::Form form = HfWriter::Form::kF32,
             const std::string& prefix = "") const {
    const auto read = read_config(gguf);
    ASSERT_TRUE(read.ok()) << read.error().message;
    const ArchSpec& spec = **find_architecture(gguf);
    AttentionConfig attention;
    DeltaNetConfig delta_net;
    for (const LayerConfig& layer : read->layers) {
      if (const auto* own = std::get_if<AttentionConfig>(&layer.mixer)) attention = *own;
      if (const auto* own = std::get_if<DeltaNetConfig>(&layer.mixer)) delta_net = *own;
    }
    HfWriter writer(gguf, spec, attention, delta_net, form, prefix,
                    spec.hf_has_multipliers ? json::parse(config) : json());
    if (config.find("num_nextn_predict_layers") != std::string::npos) {
      writer.add_left_out("model.layers." + std::to_string(read->n_layers) + ".eh_proj.weight");
    }
    if (!spec.hf_left_out.empty()) writer.add_left_out(std::string(spec.hf_left_out) + "linear_proj.0.weight");
    writer.write(path_ / "model.safetensors");
    std::ofstream(path_ / "config.json") << config;
  }

  std::vector<float> logits() const {
    const auto file = ModelFile::open(path_);
    EXPECT_TRUE(file.ok()) << file.error().message;
    return file.ok() ? test::reference_logits(*file) : std::vector<float>();
  }

 private:
  const fs::path path_;
};

Result<ModelFile> conformance_model(std::string_view name) {
  return ModelFile::open(test::source_file("tests/data/conformance/" + std::string(name) + ".gguf"));
}

json config_of(std::string_view name) {
  return json::parse(std::ranges::find(kFamilies, name, &Family::name)->config);
}

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected, float share) {
  ASSERT_EQ(actual.size(), expected.size());
  ASSERT_FALSE(expected.empty());
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], share * (*high - *low)) << i;
}

class HfFamily : public testing::TestWithParam<Family> {};

TEST_P(HfFamily, HasTheLogitsOfTheGgufFile) {
  const auto gguf = conformance_model(GetParam().name);
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  const Folder folder(std::string(GetParam().name) + GetParam().prefix);
  folder.write(*gguf, GetParam().config, HfWriter::Form::kF32, GetParam().prefix);
  expect_near(folder.logits(), test::reference_logits(*gguf), GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(Families, HfFamily, testing::ValuesIn(kFamilies), [](const auto& test) {
  std::string name = std::string(test.param.name) + (*test.param.prefix == '\0' ? "" : "_with_images");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// A quantized folder has the logits of its values in F32. A product of other types adds in another order.
void expect_same(std::string_view name, const json& settings, HfWriter::Form packed, HfWriter::Form plain) {
  const auto gguf = conformance_model(name);
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  const Folder quantized(std::string(name) + "_quantized"), in_f32(std::string(name) + "_f32");
  json config = config_of(name);
  in_f32.write(*gguf, config.dump(), plain);
  config.update(settings);
  quantized.write(*gguf, config.dump(), packed);
  expect_near(quantized.logits(), in_f32.logits(), 1e-6f);
}

TEST(HfQuantizedFamily, ExpertsOfGptOssAreMxfp4InTwoTensors) {
  expect_same("gpt-oss", {{"quantization_config", {{"quant_method", "mxfp4"}}}}, HfWriter::Form::kMxfp4,
              HfWriter::Form::kMxfp4InF32);
}

TEST(HfQuantizedFamily, KeysAndValuesOfDeepseeksLatentsAreF8WithScales) {
  expect_same("deepseek2-mla", {{"quantization_config", {{"quant_method", "fp8"}}}}, HfWriter::Form::kF8,
              HfWriter::Form::kF8InF32);
}

}  // namespace
}  // namespace realizar
