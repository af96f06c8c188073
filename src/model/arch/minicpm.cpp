// MiniCPM: Llama with factors on the embedding, the branches' outputs and the logits.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMinicpmHfClasses[] = {"MiniCPMForCausalLM"};

constexpr auto kMinicpmTensors =
    joined(kEnds, kAttnNorm, kGgufWqkv, kQkvo, kFfnNorm, kGated, kLongRopeFactors, kRopeFactors);

}  // namespace

// Files of the first converters have no factors; they are of the 1B and 2B models.
const ArchSpec kMiniCpm{.name = "minicpm",
                        .hf_classes = kMinicpmHfClasses,
                        .tensors = kMinicpmTensors,
                        .rope_pairs = RopePairs::kGguf,
                        .embed_scale = {.gguf = "embedding_scale", .hf = "scale_emb", .gguf_otherwise = 12},
                        .residual_scale = {.gguf = "residual_scale",
                                           .hf = "scale_depth",
                                           .hf_rule = ScaleRule::kByRootOfLayers,
                                           .gguf_otherwise = 1.4f},
                        .logit_scale = {.gguf = "logit_scale",
                                        .hf = "dim_model_base",
                                        .gguf_divides = true,
                                        .hf_rule = ScaleRule::kByWidth,
                                        .gguf_otherwise = 256}};

}  // namespace realizar
