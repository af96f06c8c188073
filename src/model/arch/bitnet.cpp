// BitNet (b1.58): Llama with norms of the attention's output and of the ffn's hidden row; its weights are ternary.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kBitnetHfClasses[] = {"BitNetForCausalLM"};

constexpr auto kBitnetTensors =
    joined(kEmbed, kFinalNorm, kAttnNorm, kWq, kWk, kWv,
           vector(Role::kAttnSubNorm, Dim::kQ, "blk.{}.attn_sub_norm.weight",
                  "model.layers.{}.self_attn.attn_sub_norm.weight"),
           kWo, kFfnNorm, kWGate, kWUp,
           vector(Role::kFfnSubNorm, Dim::kFf, "blk.{}.ffn_sub_norm.weight", "model.layers.{}.mlp.ffn_sub_norm.weight"),
           kWDown);

}  // namespace

const ArchSpec kBitNet{.name = "bitnet", .hf_classes = kBitnetHfClasses, .tensors = kBitnetTensors};

}  // namespace realizar
