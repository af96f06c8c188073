// EXAONE 3 (Llama under names of its own) and 4: norms after each branch, norms of q and k, and in the 32B model three
// layers with a window, which alone are rotated, to one that sees the whole context.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kHf3Classes[] = {"ExaoneForCausalLM"};
constexpr std::string_view kHf4Classes[] = {"Exaone4ForCausalLM"};

constexpr auto k3Tensors = std::to_array<TensorSpec>({
    {Role::kEmbed, kRequired, Shard::kRows, Dim::kVocab, Dim::kModel, "token_embd.weight", "transformer.wte.weight"},
    kHead,
    norm(Role::kFinalNorm, kRequired, "output_norm.weight", "transformer.ln_f.weight"),
    norm(Role::kAttnNorm, kRequired, "blk.{}.attn_norm.weight", "transformer.h.{}.ln_1.weight"),
    kGgufWqkv,
    matrix(Role::kWq, kRequired, Shard::kRows, Dim::kQ, Dim::kModel, "blk.{}.attn_q.weight",
           "transformer.h.{}.attn.attention.q_proj.weight"),
    matrix(Role::kWk, kRequired, Shard::kRows, Dim::kKv, Dim::kModel, "blk.{}.attn_k.weight",
           "transformer.h.{}.attn.attention.k_proj.weight"),
    matrix(Role::kWv, kRequired, Shard::kRows, Dim::kKv, Dim::kModel, "blk.{}.attn_v.weight",
           "transformer.h.{}.attn.attention.v_proj.weight"),
    matrix(Role::kWo, kRequired, Shard::kCols, Dim::kModel, Dim::kQ, "blk.{}.attn_output.weight",
           "transformer.h.{}.attn.attention.out_proj.weight"),
    norm(Role::kFfnNorm, kRequired, "blk.{}.ffn_norm.weight", "transformer.h.{}.ln_2.weight"),
    matrix(Role::kWGate, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_gate.weight",
           "transformer.h.{}.mlp.c_fc_0.weight"),
    matrix(Role::kWUp, kRequired, Shard::kRows, Dim::kFf, Dim::kModel, "blk.{}.ffn_up.weight",
           "transformer.h.{}.mlp.c_fc_1.weight"),
    matrix(Role::kWDown, kRequired, Shard::kCols, Dim::kModel, Dim::kFf, "blk.{}.ffn_down.weight",
           "transformer.h.{}.mlp.c_proj.weight"),
    kRopeFactors,
});

constexpr auto k4Tensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kGgufWqkv,
    kWq,
    kWk,
    kWv,
    kWo,
    kQNorm,
    kKNorm,
    kSandwichAttnPostNorm,
    kWGate,
    kWUp,
    kWDown,
    kSandwichFfnPostNorm,
    kRopeFactors,
});

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
                        .has_window = true,
                        .full_interval = 4,
                        .full_lacks_rope = true,
                        .gguf_windowed_layers = 64,  // the 32B model
                        .gguf_window = 4096};

}  // namespace realizar
