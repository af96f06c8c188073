// Falcon: attention and ffn in parallel, behind one norm (7B) or one each (40B), fused q, k and v. Falcon-RW: one after
// the other, with biases and ALiBi, which has the factor of the scores.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kFalconHfClasses[] = {"FalconForCausalLM", "RWForCausalLM"};

constexpr TensorSpec kWords{Role::kEmbed,
                            kRequired,
                            Shard::kRows,
                            Dim::kVocab,
                            Dim::kModel,
                            "token_embd.weight",
                            "transformer.word_embeddings.weight"};
constexpr TensorSpec kLnF = norm(Role::kFinalNorm, kRequired, "output_norm.weight", "transformer.ln_f.weight");
constexpr TensorSpec kLnFBias = norm(Role::kFinalNormBias, kRequired, "output_norm.bias", "transformer.ln_f.bias");
constexpr TensorSpec kQkv = matrix(Role::kWqkv, kRequired, Shard::kRows, Dim::kQkv, Dim::kModel,
                                   "blk.{}.attn_qkv.weight", "transformer.h.{}.self_attention.query_key_value.weight");
constexpr TensorSpec kFalconDense = matrix(Role::kWo, kRequired, Shard::kCols, Dim::kModel, Dim::kQ,
                                           "blk.{}.attn_output.weight", "transformer.h.{}.self_attention.dense.weight");
constexpr TensorSpec kUp = matrix(Role::kWUp, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight",
                                  "transformer.h.{}.mlp.dense_h_to_4h.weight");
constexpr TensorSpec kDown = matrix(Role::kWDown, kRequired, Shard::kCols, Dim::kModel, Dim::kFf,
                                    "blk.{}.ffn_down.weight", "transformer.h.{}.mlp.dense_4h_to_h.weight");

constexpr auto kFalconTensors = std::to_array<TensorSpec>({
    kWords,
    kHead,
    kLnF,
    kLnFBias,
    norm(Role::kAttnNorm, kRequired, "blk.{}.attn_norm.weight", "transformer.h.{}.input_layernorm.weight"),
    norm(Role::kAttnNormBias, kRequired, "blk.{}.attn_norm.bias", "transformer.h.{}.input_layernorm.bias"),
    kQkv,
    kFalconDense,
    kUp,
    kDown,
});

// GGUF calls the ffn's norm "attn_norm" then.
constexpr auto kTwoNormTensors = std::to_array<TensorSpec>({
    kWords,
    kHead,
    kLnF,
    kLnFBias,
    norm(Role::kAttnNorm, kRequired, "blk.{}.attn_norm_2.weight", "transformer.h.{}.ln_attn.weight"),
    norm(Role::kAttnNormBias, kRequired, "blk.{}.attn_norm_2.bias", "transformer.h.{}.ln_attn.bias"),
    norm(Role::kFfnNorm, kRequired, "blk.{}.attn_norm.weight", "transformer.h.{}.ln_mlp.weight"),
    norm(Role::kFfnNormBias, kRequired, "blk.{}.attn_norm.bias", "transformer.h.{}.ln_mlp.bias"),
    kQkv,
    kFalconDense,
    kUp,
    kDown,
});

constexpr auto kRwTensors = std::to_array<TensorSpec>({
    kWords,
    kHead,
    kLnF,
    kLnFBias,
    norm(Role::kAttnNorm, kRequired, "blk.{}.attn_norm.weight", "transformer.h.{}.input_layernorm.weight"),
    norm(Role::kAttnNormBias, kRequired, "blk.{}.attn_norm.bias", "transformer.h.{}.input_layernorm.bias"),
    kQkv,
    bias(Role::kBqkv, kRequired, Dim::kQkv, "blk.{}.attn_qkv.bias",
         "transformer.h.{}.self_attention.query_key_value.bias"),
    kFalconDense,
    bias(Role::kBo, kRequired, Dim::kModel, "blk.{}.attn_output.bias", "transformer.h.{}.self_attention.dense.bias"),
    norm(Role::kFfnNorm, kRequired, "blk.{}.ffn_norm.weight", "transformer.h.{}.post_attention_layernorm.weight"),
    norm(Role::kFfnNormBias, kRequired, "blk.{}.ffn_norm.bias", "transformer.h.{}.post_attention_layernorm.bias"),
    kUp,
    bias(Role::kBUp, kRequired, Dim::kFf, "blk.{}.ffn_up.bias", "transformer.h.{}.mlp.dense_h_to_4h.bias"),
    kDown,
    bias(Role::kBDown, kRequired, Dim::kModel, "blk.{}.ffn_down.bias", "transformer.h.{}.mlp.dense_4h_to_h.bias"),
});

constexpr HfFlag kRwFlags[] = {{"alibi", true, true},
                               {"parallel_attn", false, true},
                               {"new_decoder_architecture", false},
                               {"apply_residual_connection_post_layernorm", false}};
constexpr HfFlag kFalconHfFlags[] = {{"alibi", false}, {"parallel_attn", true}, {"bias", false}};
constexpr HfKeys kFalconHfKeys{.n_kv_heads = "num_kv_heads",
                               .d_ff = "ffn_hidden_size",
                               .norm_eps = "layer_norm_epsilon",
                               .activation = "activation",
                               .one_kv_head = "multi_query",
                               .d_ff_factor = 4};

constexpr ArchSpec kOneNorm{.name = "falcon",
                            .hf_classes = kFalconHfClasses,
                            .tensors = kFalconTensors,
                            .norm = NormKind::kLayer,
                            .norm_place = NormPlace::kParallel,
                            .ffn = FfnKind::kPlain,
                            .activation = Activation::kGelu,
                            .hf_activation = Activation::kGeluErf,
                            .hf_qkv_rows = QkvRows::kByKvHead,
                            .hf_n_ctx = 2048,
                            .hf_flags = kFalconHfFlags,
                            .hf_keys = kFalconHfKeys};

constexpr ArchSpec with_two_norms() {
  ArchSpec spec = kOneNorm;
  spec.tensors = kTwoNormTensors;
  spec.norm_place = NormPlace::kParallelApart;
  spec.marker = {"blk.0.attn_norm_2.weight", "transformer.h.0.ln_attn.weight"};
  return spec;
}

// llama.cpp runs no such model: the names of GGUF are ours, for tests.
constexpr ArchSpec with_alibi() {
  ArchSpec spec = kOneNorm;
  spec.name = "falcon-rw";
  spec.tensors = kRwTensors;
  spec.norm_place = NormPlace::kPre;
  spec.activation = Activation::kGeluErf;
  spec.alibi = 8;
  spec.scales_alibi = true;
  spec.hf_flags = kRwFlags;
  spec.marker = {.hf = "transformer.h.0.post_attention_layernorm.weight"};
  return spec;
}

}  // namespace

const ArchSpec kFalconRw = with_alibi();
const ArchSpec kFalcon = kOneNorm;
const ArchSpec kFalconTwoNorms = with_two_norms();

}  // namespace realizar
