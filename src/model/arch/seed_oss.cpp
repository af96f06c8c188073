// Seed-OSS: Llama with biases on q, k and v, rotated in halves.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kSeedOssHfClasses[] = {"SeedOssForCausalLM"};

constexpr auto kSeedOssTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
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
    norm(Role::kFfnNorm, kRequired, "blk.{}.post_attention_norm.weight",
         "model.layers.{}.post_attention_layernorm.weight"),
    kWGate,
    kWUp,
    kWDown,
});

}  // namespace

const ArchSpec kSeedOss{.name = "seed_oss",
                        .hf_classes = kSeedOssHfClasses,
                        .tensors = kSeedOssTensors,
                        .attn_scale = {.gguf = "attention.scale"}};

}  // namespace realizar
