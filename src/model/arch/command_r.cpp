// Command R and R7B (cohere2, which rotates only in layers with a window): one LayerNorm without bias feeds attention
// and ffn, adjacent pairs are rotated, logits have a factor.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kCommandRHfClasses[] = {"CohereForCausalLM"};

constexpr auto kCommandRTensors = joined(kEnds, kAttnNorm, kGgufQkv, kQkvo, optional(kQkvBiases), optional(kBo),
                                         whole(Role::kQNorm, kOptional, Dim::kHeads, Dim::kHead,
                                               "blk.{}.attn_q_norm.weight", "model.layers.{}.self_attn.q_norm.weight"),
                                         whole(Role::kKNorm, kOptional, Dim::kKvHeads, Dim::kHead,
                                               "blk.{}.attn_k_norm.weight", "model.layers.{}.self_attn.k_norm.weight"),
                                         kGated);

constexpr std::string_view kHf2Classes[] = {"Cohere2ForCausalLM"};

constexpr auto k2Tensors = joined(kEnds, kAttnNorm, kGgufWqkv, kQkvo, kGated);

}  // namespace

const ArchSpec kCommandR{.name = "command-r",
                         .hf_classes = kCommandRHfClasses,
                         .tensors = kCommandRTensors,
                         .norm = NormKind::kLayer,
                         .norm_place = NormPlace::kParallel,
                         .qk_norm = QkNorm::kOwnHead,
                         .rope_pairs = RopePairs::kBoth,
                         .logit_scale = {.gguf = "logit_scale", .hf = "logit_scale", .hf_otherwise = 0.0625f},
                         .hf_keys = {.norm_eps = "layer_norm_eps"}};

const ArchSpec kCohere2{.name = "cohere2",
                        .hf_classes = kHf2Classes,
                        .tensors = k2Tensors,
                        .norm = NormKind::kLayer,
                        .norm_place = NormPlace::kParallel,
                        .rope_pairs = RopePairs::kBoth,
                        .logit_scale = {.gguf = "logit_scale", .hf = "logit_scale", .hf_otherwise = 0.0625f},
                        .window_rule = WindowRule::kByInterval,
                        .full_interval = 4,
                        .full_lacks_rope = true,
                        .hf_keys = {.norm_eps = "layer_norm_eps"}};

}  // namespace realizar
