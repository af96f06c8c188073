// Phi-2 (one LayerNorm, attention and ffn in parallel, partial rope, biases), Phi-3 (Llama with fused matrices) and
// Phi-3.5-MoE (norms with biases, and experts). Its folders have LayerNorms, windows and SparseMixer's choice of
// experts; in GGUF files, which are llama.cpp's, norms are of the RMS, and experts are chosen by a softmax.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kPhi2Classes[] = {"PhiForCausalLM"};
constexpr std::string_view kPhi3Classes[] = {"Phi3ForCausalLM"};
constexpr std::string_view kPhiMoeClasses[] = {"PhiMoEForCausalLM", "PhimoeForCausalLM"};

constexpr auto kPhi2Tensors = std::to_array<TensorSpec>({
    kEmbed,
    {Role::kHead, kRequired, Shard::kRows, Dim::kVocab, Dim::kModel, "output.weight", "lm_head.weight"},
    {Role::kHeadBias, kRequired, Shard::kRows, Dim::kVocab, Dim::kNone, "output.bias", "lm_head.bias"},
    {Role::kFinalNorm, kRequired, Shard::kWhole, Dim::kModel, Dim::kNone, "output_norm.weight",
     "model.final_layernorm.weight"},
    {Role::kFinalNormBias, kRequired, Shard::kWhole, Dim::kModel, Dim::kNone, "output_norm.bias",
     "model.final_layernorm.bias"},
    kAttnNorm,
    {Role::kAttnNormBias, kRequired, Shard::kWhole, Dim::kModel, Dim::kNone, "blk.{}.attn_norm.bias",
     "model.layers.{}.input_layernorm.bias"},
    // A file has q, k, v apart or fused, never both.
    {Role::kWqkv, kOptional, Shard::kRows, Dim::kQkv, Dim::kModel, "blk.{}.attn_qkv.weight", ""},
    {Role::kBqkv, kOptional, Shard::kRows, Dim::kQkv, Dim::kNone, "blk.{}.attn_qkv.bias", ""},
    kWq,
    kWk,
    kWv,
    q_bias(kRequired),
    k_bias(kRequired),
    v_bias(kRequired),
    {Role::kWo, kRequired, Shard::kCols, Dim::kModel, Dim::kQ, "blk.{}.attn_output.weight",
     "model.layers.{}.self_attn.dense.weight"},
    bias(Role::kBo, kRequired, Dim::kModel, "blk.{}.attn_output.bias", "model.layers.{}.self_attn.dense.bias"),
    {Role::kWUp, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight",
     "model.layers.{}.mlp.fc1.weight"},
    bias(Role::kBUp, kRequired, Dim::kFf, "blk.{}.ffn_up.bias", "model.layers.{}.mlp.fc1.bias"),
    {Role::kWDown, kRequired, Shard::kCols, Dim::kModel, Dim::kFf, "blk.{}.ffn_down.weight",
     "model.layers.{}.mlp.fc2.weight"},
    bias(Role::kBDown, kRequired, Dim::kModel, "blk.{}.ffn_down.bias", "model.layers.{}.mlp.fc2.bias"),
});

constexpr auto kPhi3Tensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    kWqkv,
    kWo,
    kFfnNorm,
    {Role::kWGateUp, kRequired, Shard::kRows, Dim::kGateUp, Dim::kModel, "blk.{}.ffn_up.weight",
     "model.layers.{}.mlp.gate_up_proj.weight"},
    kWDown,
    {Role::kRopeShort, kOptional, Shard::kWhole, Dim::kHalfRot, Dim::kNone, "rope_factors_short.weight", ""},
    {Role::kRopeLong, kOptional, Shard::kWhole, Dim::kHalfRot, Dim::kNone, "rope_factors_long.weight", ""},
});

constexpr auto kPhiMoeTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    {Role::kHeadBias, kOptional, Shard::kRows, Dim::kVocab, Dim::kNone, "output.bias", "lm_head.bias"},
    kFinalNorm,
    kFinalNormBias,
    kAttnNorm,
    kAttnNormBias,
    kGgufWqkv,
    kGgufBqkv,
    kWq,
    kWk,
    kWv,
    kWo,
    q_bias(kOptional),
    k_bias(kOptional),
    v_bias(kOptional),
    o_bias(kOptional),
    kFfnNorm,
    kFfnNormBias,
    with_hf(kRouter, "model.layers.{}.block_sparse_moe.gate.weight"),
    with_hf(kExpertGate, "model.layers.{}.block_sparse_moe.experts.{}.w1.weight"),
    with_hf(kExpertUp, "model.layers.{}.block_sparse_moe.experts.{}.w3.weight"),
    with_hf(kExpertDown, "model.layers.{}.block_sparse_moe.experts.{}.w2.weight"),
    {Role::kRopeShort, kOptional, Shard::kWhole, Dim::kHalfRot, Dim::kNone, "rope_factors_short.weight", ""},
    {Role::kRopeLong, kOptional, Shard::kWhole, Dim::kHalfRot, Dim::kNone, "rope_factors_long.weight", ""},
});

}  // namespace

const ArchSpec kPhiMoe{.name = "phimoe",
                       .hf_classes = kPhiMoeClasses,
                       .tensors = kPhiMoeTensors,
                       .hf_norm = NormKind::kLayer,
                       .has_window = true,
                       .gguf_lacks_window = true,
                       .hf_rope_base = 1000000,
                       .moe = MoeRule::kAlways,
                       .routing = {.hf_sparse_mixer = true}};

const ArchSpec kPhi2{.name = "phi2",
                     .hf_classes = kPhi2Classes,
                     .tensors = kPhi2Tensors,
                     .norm = NormKind::kLayer,
                     .norm_place = NormPlace::kParallel,
                     .ffn = FfnKind::kPlain,
                     .activation = Activation::kGelu,
                     .hf_keys = {.norm_eps = "layer_norm_eps"}};

const ArchSpec kPhi3{.name = "phi3", .hf_classes = kPhi3Classes, .tensors = kPhi3Tensors, .has_window = true};

}  // namespace realizar
