// CodeShell: GPT-2 with rotation and several KV heads.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kCodeshellHfClasses[] = {"CodeShellForCausalLM"};

constexpr auto kCodeshellTensors = std::to_array<TensorSpec>({
    {Role::kEmbed, kRequired, Shard::kRows, Dim::kVocab, Dim::kModel, "token_embd.weight", "transformer.wte.weight"},
    kHead,
    norm(Role::kFinalNorm, kRequired, "output_norm.weight", "transformer.ln_f.weight"),
    norm(Role::kFinalNormBias, kRequired, "output_norm.bias", "transformer.ln_f.bias"),
    norm(Role::kAttnNorm, kRequired, "blk.{}.attn_norm.weight", "transformer.h.{}.ln_1.weight"),
    norm(Role::kAttnNormBias, kRequired, "blk.{}.attn_norm.bias", "transformer.h.{}.ln_1.bias"),
    matrix(Role::kWqkv, kRequired, Shard::kRows, Dim::kQkv, Dim::kModel, "blk.{}.attn_qkv.weight",
           "transformer.h.{}.attn.c_attn.weight"),
    bias(Role::kBqkv, kOptional, Dim::kQkv, "blk.{}.attn_qkv.bias", "transformer.h.{}.attn.c_attn.bias"),
    matrix(Role::kWo, kRequired, Shard::kCols, Dim::kModel, Dim::kQ, "blk.{}.attn_output.weight",
           "transformer.h.{}.attn.c_proj.weight"),
    bias(Role::kBo, kRequired, Dim::kModel, "blk.{}.attn_output.bias", "transformer.h.{}.attn.c_proj.bias"),
    norm(Role::kFfnNorm, kRequired, "blk.{}.ffn_norm.weight", "transformer.h.{}.ln_2.weight"),
    norm(Role::kFfnNormBias, kRequired, "blk.{}.ffn_norm.bias", "transformer.h.{}.ln_2.bias"),
    matrix(Role::kWUp, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight",
           "transformer.h.{}.mlp.c_fc.weight"),
    bias(Role::kBUp, kRequired, Dim::kFf, "blk.{}.ffn_up.bias", "transformer.h.{}.mlp.c_fc.bias"),
    matrix(Role::kWDown, kRequired, Shard::kCols, Dim::kModel, Dim::kFf, "blk.{}.ffn_down.weight",
           "transformer.h.{}.mlp.c_proj.weight"),
    bias(Role::kBDown, kRequired, Dim::kModel, "blk.{}.ffn_down.bias", "transformer.h.{}.mlp.c_proj.bias"),
    ignored("transformer.h.{}.attn.rotary_emb.inv_freq"),
});

constexpr HfKeys codeshell_hf_keys() {
  HfKeys keys = gpt2_keys();
  keys.n_kv_heads = "num_query_groups";
  return keys;
}

}  // namespace

const ArchSpec kCodeShell{.name = "codeshell",
                          .hf_classes = kCodeshellHfClasses,
                          .tensors = kCodeshellTensors,
                          .norm = NormKind::kLayer,
                          .ffn = FfnKind::kPlain,
                          .activation = Activation::kGelu,
                          .hf_keys = codeshell_hf_keys()};

}  // namespace realizar
