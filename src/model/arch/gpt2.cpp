// GPT-2 and GPT-BigCode (StarCoder, one KV head, linear weights as others have them): learned positions, LayerNorm,
// fused q/k/v, biases everywhere; Hugging Face keeps weights transposed (Conv1D).
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGpt2HfClasses[] = {"GPT2LMHeadModel"};
constexpr std::string_view kBigCodeClasses[] = {"GPTBigCodeForCausalLM"};

constexpr auto kGpt2Tensors = std::to_array<TensorSpec>({
    {Role::kEmbed, kRequired, Shard::kRows, Dim::kVocab, Dim::kModel, "token_embd.weight", "transformer.wte.weight"},
    {Role::kPositionEmbed, kRequired, Shard::kWhole, Dim::kCtx, Dim::kModel, "position_embd.weight",
     "transformer.wpe.weight"},
    kHead,
    {Role::kFinalNorm, kRequired, Shard::kWhole, Dim::kModel, Dim::kNone, "output_norm.weight",
     "transformer.ln_f.weight"},
    bias(Role::kFinalNormBias, kRequired, Dim::kModel, "output_norm.bias", "transformer.ln_f.bias"),
    {Role::kAttnNorm, kRequired, Shard::kWhole, Dim::kModel, Dim::kNone, "blk.{}.attn_norm.weight",
     "transformer.h.{}.ln_1.weight"},
    bias(Role::kAttnNormBias, kRequired, Dim::kModel, "blk.{}.attn_norm.bias", "transformer.h.{}.ln_1.bias"),
    {Role::kWqkv, kRequired, Shard::kRows, Dim::kQkv, Dim::kModel, "blk.{}.attn_qkv.weight",
     "transformer.h.{}.attn.c_attn.weight"},
    bias(Role::kBqkv, kRequired, Dim::kQkv, "blk.{}.attn_qkv.bias", "transformer.h.{}.attn.c_attn.bias"),
    {Role::kWo, kRequired, Shard::kCols, Dim::kModel, Dim::kQ, "blk.{}.attn_output.weight",
     "transformer.h.{}.attn.c_proj.weight"},
    bias(Role::kBo, kRequired, Dim::kModel, "blk.{}.attn_output.bias", "transformer.h.{}.attn.c_proj.bias"),
    {Role::kFfnNorm, kRequired, Shard::kWhole, Dim::kModel, Dim::kNone, "blk.{}.ffn_norm.weight",
     "transformer.h.{}.ln_2.weight"},
    bias(Role::kFfnNormBias, kRequired, Dim::kModel, "blk.{}.ffn_norm.bias", "transformer.h.{}.ln_2.bias"),
    {Role::kWUp, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight",
     "transformer.h.{}.mlp.c_fc.weight"},
    bias(Role::kBUp, kRequired, Dim::kFf, "blk.{}.ffn_up.bias", "transformer.h.{}.mlp.c_fc.bias"),
    {Role::kWDown, kRequired, Shard::kCols, Dim::kModel, Dim::kFf, "blk.{}.ffn_down.weight",
     "transformer.h.{}.mlp.c_proj.weight"},
    bias(Role::kBDown, kRequired, Dim::kModel, "blk.{}.ffn_down.bias", "transformer.h.{}.mlp.c_proj.bias"),
    ignored("transformer.h.{}.attn.bias"),
    ignored("transformer.h.{}.attn.masked_bias"),
});

constexpr HfKeys bigcode_keys() {
  HfKeys keys = gpt2_keys();
  keys.one_kv_head = "multi_query";
  return keys;
}

}  // namespace

const ArchSpec kGpt2{.name = "gpt2",
                     .hf_classes = kGpt2HfClasses,
                     .tensors = kGpt2Tensors,
                     .norm = NormKind::kLayer,
                     .ffn = FfnKind::kPlain,
                     .activation = Activation::kGelu,
                     .learned_positions = true,
                     .hf_transposed_linear = true,
                     .hf_keys = gpt2_keys()};

const ArchSpec kStarCoder{.name = "starcoder",
                          .hf_classes = kBigCodeClasses,
                          .tensors = kGpt2Tensors,
                          .norm = NormKind::kLayer,
                          .ffn = FfnKind::kPlain,
                          .activation = Activation::kGelu,
                          .hf_qkv_rows = QkvRows::kByKvHead,
                          .learned_positions = true,
                          .hf_keys = bigcode_keys()};

}  // namespace realizar
