// GPT-2: learned positions, LayerNorm, fused q, k and v, biases everywhere; folders have transposed matrices (Conv1D).
// GPT-BigCode (StarCoder): the same with one KV head and matrices that are not transposed.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGpt2HfClasses[] = {"GPT2LMHeadModel"};
constexpr std::string_view kBigCodeClasses[] = {"GPTBigCodeForCausalLM"};

constexpr auto kGpt2Tensors = joined(
    with_hf(kEmbed, "transformer.wte.weight"), with_hf(kPositionEmbed, "transformer.wpe.weight"), kHead,
    with_hf(kFinalNorm, "transformer.ln_f.weight"), with_hf(kFinalNormBias, "transformer.ln_f.bias"),
    with_hf(kAttnNorm, "transformer.h.{}.ln_1.weight"), with_hf(kAttnNormBias, "transformer.h.{}.ln_1.bias"),
    with_hf(kWqkv, "transformer.h.{}.attn.c_attn.weight"), with_hf(kBqkv, "transformer.h.{}.attn.c_attn.bias"),
    with_hf(kWo, "transformer.h.{}.attn.c_proj.weight"), with_hf(kBo, "transformer.h.{}.attn.c_proj.bias"),
    with_hf(kFfnNorm, "transformer.h.{}.ln_2.weight"), with_hf(kFfnNormBias, "transformer.h.{}.ln_2.bias"),
    with_hf(kWUp, "transformer.h.{}.mlp.c_fc.weight"), required(with_hf(kUpBias, "transformer.h.{}.mlp.c_fc.bias")),
    with_hf(kWDown, "transformer.h.{}.mlp.c_proj.weight"),
    required(with_hf(kDownBias, "transformer.h.{}.mlp.c_proj.bias")), ignored("transformer.h.{}.attn.bias"),
    ignored("transformer.h.{}.attn.masked_bias"));

constexpr HfKeys bigcode_keys() {
  HfKeys keys = gpt2_keys();
  keys.one_kv_head = "multi_query";
  return keys;
}

}  // namespace

const ArchSpec kGpt2{.name = "gpt2",
                     .hf_classes = kGpt2HfClasses,
                     .tensors = kGpt2Tensors,
                     .norm = NormKind::kLayer,
                     .ffn = FfnKind::kPlain,
                     .activation = Activation::kGelu,
                     .hf_form = HfForm::kTransposed,
                     .hf_keys = gpt2_keys()};

const ArchSpec kStarCoder{.name = "starcoder",
                          .hf_classes = kBigCodeClasses,
                          .tensors = kGpt2Tensors,
                          .norm = NormKind::kLayer,
                          .ffn = FfnKind::kPlain,
                          .activation = Activation::kGelu,
                          .hf_qkv_rows = QkvRows::kByKvHead,
                          .hf_keys = bigcode_keys()};

}  // namespace realizar
