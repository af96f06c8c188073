// MiniCPM 3: latent attention, and the factors of MiniCPM, which files do not tell.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMinicpm3HfClasses[] = {"MiniCPM3ForCausalLM"};
constexpr HfFlag kMinicpm3HfFlags[] = {{"attention_bias", false}};

constexpr auto kMinicpm3Tensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    whole(Role::kWqA, kRequired, Dim::kQRank, Dim::kModel, "blk.{}.attn_q_a.weight",
          "model.layers.{}.self_attn.q_a_proj.weight"),
    whole(Role::kQNorm, kRequired, Dim::kQRank, Dim::kNone, "blk.{}.attn_q_a_norm.weight",
          "model.layers.{}.self_attn.q_a_layernorm.weight"),
    whole(Role::kWqB, kRequired, Dim::kQ, Dim::kQRank, "blk.{}.attn_q_b.weight",
          "model.layers.{}.self_attn.q_b_proj.weight"),
    whole(Role::kWLatent, kRequired, Dim::kLatentKey, Dim::kModel, "blk.{}.attn_kv_a_mqa.weight",
          "model.layers.{}.self_attn.kv_a_proj_with_mqa.weight"),
    whole(Role::kLatentNorm, kRequired, Dim::kLatent, Dim::kNone, "blk.{}.attn_kv_a_norm.weight",
          "model.layers.{}.self_attn.kv_a_layernorm.weight"),
    whole(Role::kLatentKv, kRequired, Dim::kLatentKv, Dim::kLatent, "blk.{}.attn_kv_b.weight",
          "model.layers.{}.self_attn.kv_b_proj.weight"),
    whole(Role::kWo, kRequired, Dim::kModel, Dim::kAttended, "blk.{}.attn_output.weight",
          "model.layers.{}.self_attn.o_proj.weight"),
    kFfnNorm,
    kWGate,
    kWUp,
    kWDown,
    whole(Role::kRopeShort, kOptional, Dim::kHalfRot, Dim::kNone, "rope_factors_short.weight", ""),
    whole(Role::kRopeLong, kOptional, Dim::kHalfRot, Dim::kNone, "rope_factors_long.weight", ""),
});

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
                         .has_latents_in_halves = true,
                         .hf_flags = kMinicpm3HfFlags};

}  // namespace realizar
