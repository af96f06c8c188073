// Falcon: attention and ffn in parallel, after one norm (7B) or one each (40B), fused q, k and v. Falcon-RW: one after
// the other, with biases and an ALiBi that is scaled like q.k.
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kFalconHfClasses[] = {"FalconForCausalLM", "RWForCausalLM"};

constexpr TensorSpec kWords = with_hf(kEmbed, "transformer.word_embeddings.weight");
constexpr TensorSpec kLnF = with_hf(kFinalNorm, "transformer.ln_f.weight");
constexpr TensorSpec kLnFBias = with_hf(kFinalNormBias, "transformer.ln_f.bias");
constexpr TensorSpec kQkv = with_hf(kWqkv, "transformer.h.{}.self_attention.query_key_value.weight");
constexpr TensorSpec kFalconDense = with_hf(kWo, "transformer.h.{}.self_attention.dense.weight");
constexpr TensorSpec kUp = with_hf(kWUp, "transformer.h.{}.mlp.dense_h_to_4h.weight");
constexpr TensorSpec kDown = with_hf(kWDown, "transformer.h.{}.mlp.dense_4h_to_h.weight");

constexpr auto kFalconTensors =
    joined(kWords, kHead, kLnF, kLnFBias, with_hf(kAttnNorm, "transformer.h.{}.input_layernorm.weight"),
           with_hf(kAttnNormBias, "transformer.h.{}.input_layernorm.bias"), kQkv, kFalconDense, kUp, kDown);

// GGUF then calls the ffn's norm "attn_norm".
constexpr auto kTwoNormTensors = joined(
    kWords, kHead, kLnF, kLnFBias,
    norm(Role::kAttnNorm, "blk.{}.attn_norm_2.weight", "transformer.h.{}.ln_attn.weight"),
    norm(Role::kAttnNormBias, "blk.{}.attn_norm_2.bias", "transformer.h.{}.ln_attn.bias"),
    norm(Role::kFfnNorm, "blk.{}.attn_norm.weight", "transformer.h.{}.ln_mlp.weight"),
    norm(Role::kFfnNormBias, "blk.{}.attn_norm.bias", "transformer.h.{}.ln_mlp.bias"), kQkv, kFalconDense, kUp, kDown);

constexpr auto kRwTensors =
    joined(kWords, kHead, kLnF, kLnFBias, with_hf(kAttnNorm, "transformer.h.{}.input_layernorm.weight"),
           with_hf(kAttnNormBias, "transformer.h.{}.input_layernorm.bias"), kQkv,
           with_hf(kBqkv, "transformer.h.{}.self_attention.query_key_value.bias"), kFalconDense,
           with_hf(kBo, "transformer.h.{}.self_attention.dense.bias"),
           with_hf(kFfnNorm, "transformer.h.{}.post_attention_layernorm.weight"),
           with_hf(kFfnNormBias, "transformer.h.{}.post_attention_layernorm.bias"), kUp,
           required(with_hf(kUpBias, "transformer.h.{}.mlp.dense_h_to_4h.bias")), kDown,
           required(with_hf(kDownBias, "transformer.h.{}.mlp.dense_4h_to_h.bias")));

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
                               .d_ff_factor = 4,
                               .default_activation = Activation::kGeluErf};

constexpr ArchSpec kOneNorm{.name = "falcon",
                            .hf_classes = kFalconHfClasses,
                            .tensors = kFalconTensors,
                            .norm = NormKind::kLayer,
                            .norm_place = NormPlace::kParallel,
                            .ffn = FfnKind::kPlain,
                            .activation = Activation::kGelu,
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

Status scale_alibi(const ConfigKeys&, ModelConfig& c) {
  change_each<AttentionConfig>(c, [](AttentionConfig& own) { own.alibi_is_scaled = true; });
  return {};
}

// llama.cpp runs no such model: its GGUF names are only for tests.
constexpr ArchSpec with_alibi() {
  ArchSpec spec = kOneNorm;
  spec.name = "falcon-rw";
  spec.tensors = kRwTensors;
  spec.norm_place = NormPlace::kPre;
  spec.activation = Activation::kGeluErf;
  spec.alibi = always(8);
  spec.hf_flags = kRwFlags;
  spec.marker = {.hf = "transformer.h.0.post_attention_layernorm.weight"};
  spec.adjust = scale_alibi;
  return spec;
}

}  // namespace

const ArchSpec kFalconRw = with_alibi();
const ArchSpec kFalcon = kOneNorm;
const ArchSpec kFalconTwoNorms = with_two_norms();

}  // namespace realizar
