// OLMo 2 and 3: norms after attention and ffn alone, and norms over all heads of q and of k; OLMo 3 has three layers
// with a window, and a rotation without scaling, to one that sees the whole context.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kOlmo2HfClasses[] = {"Olmo2ForCausalLM", "Olmo3ForCausalLM"};

constexpr auto kOlmo2Tensors =
    joined(kEnds, kGgufWqkv, kQkvo, kQkRowNorms, kSandwichAttnPostNorm, kGated, kSandwichFfnPostNorm);

}  // namespace

const ArchSpec kOlmo2{.name = "olmo2",
                      .hf_classes = kOlmo2HfClasses,
                      .tensors = kOlmo2Tensors,
                      .norm_place = NormPlace::kPost,
                      .qk_norm = QkNorm::kRow,
                      .has_window = true,
                      .full_interval = 4,
                      .window_rope_unscaled = true};

}  // namespace realizar
