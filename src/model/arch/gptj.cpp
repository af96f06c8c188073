// GPT-J: one LayerNorm before attention and ffn in parallel, adjacent pairs rotated in a part of each head, biases only
// in the ffn and the head.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGptjHfClasses[] = {"GPTJForCausalLM"};

constexpr auto kGptjTensors = joined(
    with_hf(kEmbed, "transformer.wte.weight"), required(kHead), kHeadBias,
    with_hf(kFinalNorm, "transformer.ln_f.weight"), with_hf(kFinalNormBias, "transformer.ln_f.bias"),
    with_hf(kAttnNorm, "transformer.h.{}.ln_1.weight"), with_hf(kAttnNormBias, "transformer.h.{}.ln_1.bias"),
    with_hf(kWq, "transformer.h.{}.attn.q_proj.weight"), with_hf(kWk, "transformer.h.{}.attn.k_proj.weight"),
    with_hf(kWv, "transformer.h.{}.attn.v_proj.weight"), with_hf(kWo, "transformer.h.{}.attn.out_proj.weight"),
    with_hf(kWUp, "transformer.h.{}.mlp.fc_in.weight"), required(with_hf(kUpBias, "transformer.h.{}.mlp.fc_in.bias")),
    with_hf(kWDown, "transformer.h.{}.mlp.fc_out.weight"),
    required(with_hf(kDownBias, "transformer.h.{}.mlp.fc_out.bias")),
    // Masks that older versions of transformers stored.
    ignored("transformer.h.{}.attn.bias"), ignored("transformer.h.{}.attn.masked_bias"));

constexpr HfKeys gptj_hf_keys() {
  HfKeys keys = gpt2_keys();
  keys.n_rot = "rotary_dim";
  keys.head_dim = "";
  return keys;
}

}  // namespace

const ArchSpec kGptJ{.name = "gptj",
                     .hf_classes = kGptjHfClasses,
                     .tensors = kGptjTensors,
                     .norm = NormKind::kLayer,
                     .norm_place = NormPlace::kParallel,
                     .ffn = FfnKind::kPlain,
                     .activation = Activation::kGelu,
                     .rope_pairs = RopePairs::kBoth,
                     .hf_keys = gptj_hf_keys()};

}  // namespace realizar
