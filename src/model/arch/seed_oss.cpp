// Seed-OSS: Llama with biases on q, k and v; q and k are stored in halves.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kSeedOssHfClasses[] = {"SeedOssForCausalLM"};

constexpr auto kSeedOssTensors = joined(kEnds, kAttnNorm, kGgufQkv, kQkvo, optional(kQkvBiases), optional(kBo),
                                        with_gguf(kFfnNorm, "blk.{}.post_attention_norm.weight"), kGated);

}  // namespace

const ArchSpec kSeedOss{.name = "seed_oss",
                        .hf_classes = kSeedOssHfClasses,
                        .tensors = kSeedOssTensors,
                        .attn_scale = {.gguf = "attention.scale"}};

}  // namespace realizar
