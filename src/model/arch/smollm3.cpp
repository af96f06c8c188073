// SmolLM3: Llama with no position encoding in every fourth layer.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kSmollm3HfClasses[] = {"SmolLM3ForCausalLM"};

constexpr auto kSmollm3Tensors = joined(kEnds, kAttention, kFfnNorm, kGated);

}  // namespace

const ArchSpec kSmolLm3{.name = "smollm3",
                        .hf_classes = kSmollm3HfClasses,
                        .tensors = kSmollm3Tensors,
                        .rope_pairs = RopePairs::kGguf,
                        .nope_interval = 4,
                        .hf_keys = {.rope_list = "no_rope_layers"}};

}  // namespace realizar
