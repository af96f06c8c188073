// GLM-4 (9B, 2024) and ChatGLM: Llama with half of each head rotated in pairs as they lie, and fused gate and up.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kHfClasses[] = {"GlmForCausalLM"};

constexpr auto kTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    kGgufWqkv,
    kGgufBqkv,
    kWq,
    kWk,
    kWv,
    kWo,
    q_bias(kOptional),
    k_bias(kOptional),
    v_bias(kOptional),
    kFfnNorm,
    matrix(Role::kWGateUp, kRequired, Shard::kRows, Dim::kGateUp, Dim::kModel, "blk.{}.ffn_up.weight",
           "model.layers.{}.mlp.gate_up_proj.weight"),
    kWDown,
});

}  // namespace

const ArchSpec kChatGlm{.name = "chatglm",
                        .hf_classes = kHfClasses,
                        .tensors = kTensors,
                        .gguf_interleaved_rope = true,
                        .hf_interleaved_rope = true,
                        .hf_rope_share = 0.5};

}  // namespace realizar
