// Granite: Llama with factors on the embedding, the branches' outputs, q.k and the logits. GraniteMoE: the same with
// experts, in some models also a shared one.
#include "model/arch/granite_rope.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGraniteHfClasses[] = {"GraniteForCausalLM"};

constexpr auto kGraniteTensors = joined(kEnds, kAttnNorm, kGgufQkv, kQkvo, optional(kQkvBiases), optional(kBo),
                                        kFfnNorm, kGated, kGatedBiases, kRopeFactors);

constexpr std::string_view kGraniteMoeClasses[] = {"GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM"};

constexpr auto kGraniteMoeTensors =
    joined(kEnds, kAttnNorm, kGgufQkv, kQkvo, optional(kQkvBiases), optional(kBo), kFfnNorm,
           with_hf(kRouter, "model.layers.{}.block_sparse_moe.router.layer.weight"), gguf_only(kExpertGate),
           gguf_only(kExpertUp), fused_experts("model.layers.{}.block_sparse_moe.input_linear.weight"),
           with_hf(kExpertDown, "model.layers.{}.block_sparse_moe.output_linear.weight"),
           optional(gguf_only(kSharedGate)), optional(gguf_only(kSharedUp)),
           optional(by_rows(Role::kSharedGateUp, Dim::kSharedGateUp, Dim::kModel, "",
                            "model.layers.{}.shared_mlp.input_linear.weight")),
           optional(with_hf(kSharedDown, "model.layers.{}.shared_mlp.output_linear.weight")), kRopeFactors);

}  // namespace

const ArchSpec kGraniteMoe{.name = "granitemoe",
                           .hf_classes = kGraniteMoeClasses,
                           .tensors = kGraniteMoeTensors,
                           .rope_pairs = RopePairs::kGguf,
                           .embed_scale = {"embedding_scale", "embedding_multiplier"},
                           .residual_scale = {"residual_scale", "residual_multiplier"},
                           .attn_scale = {"attention.scale", "attention_multiplier"},
                           .logit_scale = {"logit_scale", "logits_scaling", true, true},
                           .moe = MoeRule::kAlways,
                           .hf_keys = {.shared_d_ff = "shared_intermediate_size"}};

const ArchSpec kGranite{.name = "granite",
                        .hf_classes = kGraniteHfClasses,
                        .tensors = kGraniteTensors,
                        .rope_pairs = RopePairs::kGguf,
                        .embed_scale = {"embedding_scale", "embedding_multiplier"},
                        .residual_scale = {"residual_scale", "residual_multiplier"},
                        .attn_scale = {"attention.scale", "attention_multiplier"},
                        .logit_scale = {"logit_scale", "logits_scaling", true, true},
                        .adjust = read_granite_rope,
                        .tell = tell_granite_rope};

}  // namespace realizar
