// Refact: Llama with ALiBi and one KV head. Its folders have k and v, and gate and up, in one matrix each.
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/arch/two_thirds.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kRefactHfClasses[] = {"GPTRefactForCausalLM"};
constexpr HfFlag kRefactHfFlags[] = {{"multi_query", true}};

constexpr auto kRefactTensors =
    joined(with_hf(kEmbed, "transformer.wte.weight"), kHead, with_hf(kFinalNorm, "transformer.ln_f.weight"),
           with_hf(kAttnNorm, "transformer.h.{}.ln_1.weight"), kGgufWqkv,
           with_hf(kWq, "transformer.h.{}.attn.q.weight"), gguf_only(kWk), gguf_only(kWv),
           by_rows(Role::kWkv, Dim::kTwoKv, Dim::kModel, "", "transformer.h.{}.attn.kv.weight"),
           with_hf(kWo, "transformer.h.{}.attn.c_proj.weight"), with_hf(kFfnNorm, "transformer.h.{}.ln_2.weight"),
           gguf_only(kWGate), gguf_only(kWUp), hf_only(kWGateUp, "transformer.h.{}.mlp.gate_up_proj.weight"),
           with_hf(kWDown, "transformer.h.{}.mlp.c_proj.weight"));

// The ffn's width is two thirds of four times the model's, rounded up to a multiple of 256.
constexpr HfKeys refact_hf_keys() {
  HfKeys keys = gpt2_keys();
  keys.d_ff = "";
  keys.activation = "";
  keys.one_kv_head = "multi_query";
  return keys;
}

}  // namespace

const ArchSpec kRefact{.name = "refact",
                       .hf_classes = kRefactHfClasses,
                       .tensors = kRefactTensors,
                       .alibi = always(8),
                       .hf_flags = kRefactHfFlags,
                       .hf_keys = refact_hf_keys(),
                       .adjust = adjust_d_ff,
                       .tell = tell_adjusted_d_ff};

}  // namespace realizar
