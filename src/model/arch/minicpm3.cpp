// MiniCPM 3: latent attention, and the factors of MiniCPM, which GGUF files may lack.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMinicpm3HfClasses[] = {"MiniCPM3ForCausalLM"};
constexpr HfFlag kMinicpm3HfFlags[] = {{"attention_bias", false}};

constexpr auto kMinicpm3Tensors = joined(kEnds, kAttnNorm, kWqA, kWqANorm, kWqB, kWLatent, kLatentNorm, kLatentKv,
                                         kLatentWo, kFfnNorm, kGated, kLongRopeFactors);

}  // namespace

// llama.cpp, LLM_ARCH_MINICPM3
const ArchSpec kMiniCpm3{.name = "minicpm3",
                         .hf_classes = kMinicpm3HfClasses,
                         .tensors = kMinicpm3Tensors,
                         .mixer = MixerKind::kLatentAttention,
                         .embed_scale = {.gguf = "embedding_scale", .hf = "scale_emb", .gguf_otherwise = 12},
                         .residual_scale = {.gguf = "residual_scale",
                                            .hf = "scale_depth",
                                            .hf_rule = ScaleRule::kByRootOfLayers,
                                            .gguf_otherwise = 1.4f},
                         .logit_scale = {.gguf = "logit_scale",
                                         .hf = "dim_model_base",
                                         .hf_rule = ScaleRule::kByWidth,
                                         .gguf_otherwise = 256},
                         .hf_flags = kMinicpm3HfFlags};

}  // namespace realizar
