// CodeShell: GPT-2 with rotations and several KV heads.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kCodeshellHfClasses[] = {"CodeShellForCausalLM"};

constexpr auto kCodeshellTensors = joined(
    with_hf(kEmbed, "transformer.wte.weight"), kHead, with_hf(kFinalNorm, "transformer.ln_f.weight"),
    with_hf(kFinalNormBias, "transformer.ln_f.bias"), with_hf(kAttnNorm, "transformer.h.{}.ln_1.weight"),
    with_hf(kAttnNormBias, "transformer.h.{}.ln_1.bias"), with_hf(kWqkv, "transformer.h.{}.attn.c_attn.weight"),
    with_hf(kGgufBqkv, "transformer.h.{}.attn.c_attn.bias"), with_hf(kWo, "transformer.h.{}.attn.c_proj.weight"),
    with_hf(kBo, "transformer.h.{}.attn.c_proj.bias"), with_hf(kFfnNorm, "transformer.h.{}.ln_2.weight"),
    with_hf(kFfnNormBias, "transformer.h.{}.ln_2.bias"), with_hf(kWUp, "transformer.h.{}.mlp.c_fc.weight"),
    required(with_hf(kUpBias, "transformer.h.{}.mlp.c_fc.bias")), with_hf(kWDown, "transformer.h.{}.mlp.c_proj.weight"),
    required(with_hf(kDownBias, "transformer.h.{}.mlp.c_proj.bias")),
    ignored("transformer.h.{}.attn.rotary_emb.inv_freq"));

constexpr HfKeys codeshell_hf_keys() {
  HfKeys keys = gpt2_keys();
  keys.n_kv_heads = "num_query_groups";
  return keys;
}

}  // namespace

const ArchSpec kCodeShell{.name = "codeshell",
                          .hf_classes = kCodeshellHfClasses,
                          .tensors = kCodeshellTensors,
                          .norm = NormKind::kLayer,
                          .ffn = FfnKind::kPlain,
                          .activation = Activation::kGelu,
                          .hf_keys = codeshell_hf_keys()};

}  // namespace realizar
