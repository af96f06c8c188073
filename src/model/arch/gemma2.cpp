// Gemma 2: norms before and after each branch, softcaps, a sliding window in every other layer.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGemma2HfClasses[] = {"Gemma2ForCausalLM"};

constexpr auto kGemma2Tensors =
    joined(kEnds, kAttention, kSandwichAttnPostNorm, kSandwichFfnNorm, kGated, kSandwichFfnPostNorm);

}  // namespace

const ArchSpec kGemma2{.name = "gemma2",
                       .hf_classes = kGemma2HfClasses,
                       .tensors = kGemma2Tensors,
                       .norm_place = NormPlace::kSandwich,
                       .activation = Activation::kGelu,
                       .embed_scale_sqrt_d_model = true,
                       .hf_norm_plus_one = true,
                       .has_window = true,
                       .full_interval = 2,
                       .gguf_layers_scaled_by_width = 46,  // the 27B model (its paper, table 1)
                       .softcaps = Need::kRequired,
                       .hf_keys = {.activation = "hidden_activation", .attn_dims = "query_pre_attn_scalar"}};

}  // namespace realizar
