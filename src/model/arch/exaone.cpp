// EXAONE 3 (Llama under other names) and 4: norms after each branch and of q and k. In the 32B model three of four
// layers have a window and a rotation; the fourth sees the whole context without one.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kHf3Classes[] = {"ExaoneForCausalLM"};
constexpr std::string_view kHf4Classes[] = {"Exaone4ForCausalLM"};

constexpr auto k3Tensors = joined(
    with_hf(kEmbed, "transformer.wte.weight"), kHead, with_hf(kFinalNorm, "transformer.ln_f.weight"),
    with_hf(kAttnNorm, "transformer.h.{}.ln_1.weight"), kGgufWqkv,
    with_hf(kWq, "transformer.h.{}.attn.attention.q_proj.weight"),
    with_hf(kWk, "transformer.h.{}.attn.attention.k_proj.weight"),
    with_hf(kWv, "transformer.h.{}.attn.attention.v_proj.weight"),
    with_hf(kWo, "transformer.h.{}.attn.attention.out_proj.weight"), with_hf(kFfnNorm, "transformer.h.{}.ln_2.weight"),
    with_hf(kWGate, "transformer.h.{}.mlp.c_fc_0.weight"), with_hf(kWUp, "transformer.h.{}.mlp.c_fc_1.weight"),
    with_hf(kWDown, "transformer.h.{}.mlp.c_proj.weight"), kRopeFactors);

constexpr auto k4Tensors =
    joined(kEnds, kGgufWqkv, kQkvo, kQkNorms, kSandwichAttnPostNorm, kGated, kSandwichFfnPostNorm, kRopeFactors);

// For the 32B model.
constexpr Default kExaone4Defaults[] = {{.gguf = "attention.sliding_window", .value = 4096, .n_layers = 64}};

}  // namespace

const ArchSpec kExaone{
    .name = "exaone",
    .hf_classes = kHf3Classes,
    .tensors = k3Tensors,
    .hf_keys = {.n_layers = "num_layers", .norm_eps = "layer_norm_epsilon", .activation = "activation_function"}};

const ArchSpec kExaone4{.name = "exaone4",
                        .hf_classes = kHf4Classes,
                        .tensors = k4Tensors,
                        .norm_place = NormPlace::kPost,
                        .qk_norm = QkNorm::kHead,
                        .window_rule = WindowRule::kByInterval,
                        .full_interval = 4,
                        .full_lacks_rope = true,
                        .defaults = kExaone4Defaults};

}  // namespace realizar
