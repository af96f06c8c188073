// InternLM2: Llama with q, k and v in one matrix in folders, ordered by KV head.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kInternlm2HfClasses[] = {"InternLM2ForCausalLM"};

constexpr auto kInternlm2Tensors = joined(
    with_hf(kEmbed, "model.tok_embeddings.weight"), with_hf(kHead, "output.weight"), kFinalNorm,
    with_hf(kAttnNorm, "model.layers.{}.attention_norm.weight"),
    with_hf(kGgufWqkv, "model.layers.{}.attention.wqkv.weight"), gguf_only(kWq), gguf_only(kWk), gguf_only(kWv),
    with_hf(kWo, "model.layers.{}.attention.wo.weight"), with_hf(kFfnNorm, "model.layers.{}.ffn_norm.weight"),
    with_hf(kWGate, "model.layers.{}.feed_forward.w1.weight"), with_hf(kWUp, "model.layers.{}.feed_forward.w3.weight"),
    with_hf(kWDown, "model.layers.{}.feed_forward.w2.weight"));

}  // namespace

const ArchSpec kInternLm2{.name = "internlm2",
                          .hf_classes = kInternlm2HfClasses,
                          .tensors = kInternlm2Tensors,
                          .hf_qkv_rows = QkvRows::kByKvHead,
                          .rope_pairs = RopePairs::kGguf};

}  // namespace realizar
