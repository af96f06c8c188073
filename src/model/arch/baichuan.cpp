// Baichuan: Llama whose folders keep q, k and v in one matrix. The 13B model, of 40 layers, has ALiBi and no rotation.
// Baichuan 2 is the same with a head of normalized rows. Its folders name the 13B model's class, and their vocabulary
// tells them apart; its GGUF files have the head as it is used.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kBaichuanHfClasses[] = {"BaiChuanForCausalLM", "BaichuanForCausalLM"};
constexpr uint32_t kUnitHeadVocab = 125696;
constexpr HfNumber kBaichuanHfNumbers[] = {{"vocab_size", 64000, kUnitHeadVocab}};

constexpr auto kBaichuanTensors =
    joined(kEnds, kAttnNorm, with_hf(kGgufWqkv, "model.layers.{}.self_attn.W_pack.weight"), gguf_only(kWq),
           gguf_only(kWk), gguf_only(kWv), kWo, kFfnNorm, kGated, kInvFreqBuffer);

}  // namespace

const ArchSpec kBaichuan{.name = "baichuan",
                         .hf_classes = kBaichuanHfClasses,
                         .tensors = kBaichuanTensors,
                         .gguf_interleaved_rope = true,
                         .alibi = 8,
                         .alibi_layers = 40,
                         .hf_n_ctx = 4096,
                         .hf_numbers = kBaichuanHfNumbers,
                         .hf_unit_head_vocab = kUnitHeadVocab};

}  // namespace realizar
