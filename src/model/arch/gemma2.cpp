// Gemma 2: norms before and after each branch, softcaps, a sliding window in every other layer.
#include "model/arch/gemma_layers.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGemma2HfClasses[] = {"Gemma2ForCausalLM"};

constexpr auto kGemma2Tensors =
    joined(kEnds, kAttention, kSandwichAttnPostNorm, kSandwichFfnNorm, kGated, kSandwichFfnPostNorm);

// GGUF has no key for this; only the 27B model has it (the paper's table 1).
Status scale_gemma2_27b(const ConfigKeys& keys, ModelConfig& c) {
  if (keys.is_gguf() && c.n_layers == 46) scale_by_width(c);
  return {};
}

}  // namespace

const ArchSpec kGemma2{.name = "gemma2",
                       .hf_classes = kGemma2HfClasses,
                       .tensors = kGemma2Tensors,
                       .norm_place = NormPlace::kSandwich,
                       .activation = Activation::kGelu,
                       .embed_scale = kRootOfWidth,
                       .hf_norm_plus_one = true,
                       .window_rule = WindowRule::kByInterval,
                       .full_interval = 2,
                       .softcaps = Need::kRequired,
                       .hf_keys = {.activation = "hidden_activation", .attn_dims = "query_pre_attn_scalar"},
                       .adjust = scale_gemma2_27b};

}  // namespace realizar
