// OLMo (1): LayerNorm without weights; some models clip q, k and v.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kOlmoHfClasses[] = {"OlmoForCausalLM"};

constexpr auto kOlmoTensors = joined(kEmbed, kHead, kGgufWqkv, kQkvo, kGated);

}  // namespace

const ArchSpec kOlmo{.name = "olmo",
                     .hf_classes = kOlmoHfClasses,
                     .tensors = kOlmoTensors,
                     .norm = NormKind::kLayer,
                     .rope_pairs = RopePairs::kGguf,
                     .clip = {.gguf = "attention.clamp_kqv", .hf = "clip_qkv"},
                     .hf_norm_eps = 1e-5f,  // transformers, OlmoLayerNorm
                     .hf_keys = {.norm_eps = ""}};

}  // namespace realizar
