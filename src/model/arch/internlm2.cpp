// InternLM2: Llama whose folders keep q, k and v in one matrix, by KV head.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kInternlm2HfClasses[] = {"InternLM2ForCausalLM"};

constexpr auto kInternlm2Tensors = std::to_array<TensorSpec>({
    {Role::kEmbed, kRequired, Shard::kRows, Dim::kVocab, Dim::kModel, "token_embd.weight",
     "model.tok_embeddings.weight"},
    {Role::kHead, kOptional, Shard::kRows, Dim::kVocab, Dim::kModel, "output.weight", "output.weight"},
    kFinalNorm,
    norm(Role::kAttnNorm, kRequired, "blk.{}.attn_norm.weight", "model.layers.{}.attention_norm.weight"),
    matrix(Role::kWqkv, kOptional, Shard::kRows, Dim::kQkv, Dim::kModel, "blk.{}.attn_qkv.weight",
           "model.layers.{}.attention.wqkv.weight"),
    matrix(Role::kWq, kRequired, Shard::kRows, Dim::kQ, Dim::kModel, "blk.{}.attn_q.weight", ""),
    matrix(Role::kWk, kRequired, Shard::kRows, Dim::kKv, Dim::kModel, "blk.{}.attn_k.weight", ""),
    matrix(Role::kWv, kRequired, Shard::kRows, Dim::kKv, Dim::kModel, "blk.{}.attn_v.weight", ""),
    matrix(Role::kWo, kRequired, Shard::kCols, Dim::kModel, Dim::kQ, "blk.{}.attn_output.weight",
           "model.layers.{}.attention.wo.weight"),
    norm(Role::kFfnNorm, kRequired, "blk.{}.ffn_norm.weight", "model.layers.{}.ffn_norm.weight"),
    matrix(Role::kWGate, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_gate.weight",
           "model.layers.{}.feed_forward.w1.weight"),
    matrix(Role::kWUp, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight",
           "model.layers.{}.feed_forward.w3.weight"),
    matrix(Role::kWDown, kRequired, Shard::kCols, Dim::kModel, Dim::kFf, "blk.{}.ffn_down.weight",
           "model.layers.{}.feed_forward.w2.weight"),
});

}  // namespace

const ArchSpec kInternLm2{.name = "internlm2",
                          .hf_classes = kInternlm2HfClasses,
                          .tensors = kInternlm2Tensors,
                          .hf_qkv_rows = QkvRows::kByKvHead,
                          .gguf_interleaved_rope = true};

}  // namespace realizar
