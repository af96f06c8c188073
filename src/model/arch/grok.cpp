// Grok 1 and 2: norms before and after each branch, experts with a GELU and, in Grok 2, a dense ffn beside them; soft
// caps of q.k and of the logits. GGUF alone: its folders are divided among eight devices.
#include <array>
#include <numbers>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr TensorSpec dense(Role role, std::string_view gguf) {
  return optional(shared_expert(role, gguf, ""));
}

constexpr auto kTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    kWq,
    kWk,
    kWv,
    kWo,
    norm(Role::kAttnPostNorm, kRequired, "blk.{}.attn_output_norm.weight", ""),
    kFfnNorm,
    dense(Role::kSharedGate, "blk.{}.ffn_gate.weight"),
    dense(Role::kSharedUp, "blk.{}.ffn_up.weight"),
    dense(Role::kSharedDown, "blk.{}.ffn_down.weight"),
    kRouter,
    kExpertGate,
    kExpertUp,
    kExpertDown,
    norm(Role::kFfnPostNorm, kRequired, "blk.{}.layer_output_norm.weight", ""),
    norm(Role::kFfnPostNorm, kRequired, "blk.{}.post_ffw_norm.weight", ""),
});

}  // namespace

// llama.cpp, LLM_ARCH_GROK, whose files may lack these factors
const ArchSpec kGrok{
    .name = "grok",
    .hf_classes = {},
    .tensors = kTensors,
    .norm_place = NormPlace::kSandwich,
    .activation = Activation::kGelu,
    .embed_scale = {.gguf = "embedding_scale", .gguf_otherwise = 78.38367176906169f},
    .attn_scale = {.gguf = "attention.output_scale", .gguf_otherwise = 0.08838834764831845f},
    .logit_scale = {.gguf = "logit_scale", .gguf_otherwise = 0.5773502691896257f},
    .softcaps = Need::kOptional,
    .gguf_attn_softcap = 30,
    .moe = MoeRule::kAlways,
    .routing = {.is_dense_shared = true, .out_scale_with_shared = 0.5f * std::numbers::sqrt2_v<float>}};

}  // namespace realizar
