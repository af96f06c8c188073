// Baichuan: Llama with q, k and v in one matrix in folders. The 13B model, with 40 layers, has ALiBi and no rotation.
// Baichuan 2 is the same with normalized rows of the head. Its folders name the 13B model's class and are recognized by
// their vocabulary; in its GGUF files the rows are already normalized.
#include <fmt/format.h>

#include "base/try.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kBaichuanHfClasses[] = {"BaiChuanForCausalLM", "BaichuanForCausalLM"};
constexpr uint32_t kUnitHeadVocab = 125696;
constexpr HfNumber kBaichuanHfNumbers[] = {{"vocab_size", 64000, kUnitHeadVocab}};

constexpr auto kBaichuanTensors =
    joined(kEnds, kAttnNorm, with_hf(kGgufWqkv, "model.layers.{}.self_attn.W_pack.weight"), gguf_only(kWq),
           gguf_only(kWk), gguf_only(kWv), kWo, kFfnNorm, kGated, kInvFreqBuffer);

// For the 13B model.
void use_alibi(ModelConfig& c) {
  c.ropes.clear();
  change_each<AttentionConfig>(c, [](AttentionConfig& own) {
    own.alibi = 8;
    own.rope_idx = kNoRope;
    own.n_interleaved = 0;
  });
}

// Baichuan 2's NormHead has no key.
Status adjust_baichuan(const ConfigKeys& keys, ModelConfig& c) {
  if (c.n_layers == 40) use_alibi(c);
  if (keys.is_gguf()) return {};
  RZ_TRY(const auto n_vocab, keys.file().metadata().get_int("vocab_size"));
  c.has_unit_head = n_vocab == kUnitHeadVocab;
  if (!c.has_unit_head || !c.is_head_tied) return {};
  return unsupported(fmt::format("{}: tie_word_embeddings = true is not supported for {} with a normalized head",
                                 keys.file().path().string(), keys.spec().name),
                     "tie_word_embeddings");
}

}  // namespace

const ArchSpec kBaichuan{.name = "baichuan",
                         .hf_classes = kBaichuanHfClasses,
                         .tensors = kBaichuanTensors,
                         .rope_pairs = RopePairs::kGguf,
                         .hf_n_ctx = 4096,
                         .hf_numbers = kBaichuanHfNumbers,
                         .adjust = adjust_baichuan};

}  // namespace realizar
