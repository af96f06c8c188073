// Gemma 4: Gemma 3 with wider heads in the layers that see the whole context, normalized values, a factor after each
// layer and, in the small models, a table of each layer's own and last layers that attend to what earlier ones keep.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kHfClasses[] = {"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"};
constexpr HfFlag kHfFlags[] = {{"enable_moe_block", false}, {"attention_bias", false}};

constexpr auto kTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    {Role::kLayerTable, kRequired, Shard::kRows, Dim::kVocab, Dim::kLayerInputs, "per_layer_token_embd.weight",
     "model.embed_tokens_per_layer.weight"},
    {Role::kLayerTableProj, kRequired, Shard::kRows, Dim::kLayerInputs, Dim::kModel, "per_layer_model_proj.weight",
     "model.per_layer_model_projection.weight"},
    {Role::kLayerTableNorm, kRequired, Shard::kWhole, Dim::kLayerInput, Dim::kNone, "per_layer_proj_norm.weight",
     "model.per_layer_projection_norm.weight"},
    kAttnNorm,
    kWq,
    kWk,
    // Absent where values are made of keys.
    {Role::kWv, kOptional, Shard::kRows, Dim::kKv, Dim::kModel, "blk.{}.attn_v.weight",
     "model.layers.{}.self_attn.v_proj.weight"},
    kWo,
    kQNorm,
    kKNorm,
    kSandwichAttnPostNorm,
    kSandwichFfnNorm,
    kWGate,
    kWUp,
    kWDown,
    kSandwichFfnPostNorm,
    {Role::kInputGate, kRequired, Shard::kRows, Dim::kLayerInput, Dim::kModel, "blk.{}.inp_gate.weight",
     "model.layers.{}.per_layer_input_gate.weight"},
    {Role::kInputProj, kRequired, Shard::kCols, Dim::kModel, Dim::kLayerInput, "blk.{}.proj.weight",
     "model.layers.{}.per_layer_projection.weight"},
    norm(Role::kInputNorm, kRequired, "blk.{}.post_norm.weight", "model.layers.{}.post_per_layer_input_norm.weight"),
    {Role::kLayerScale, kOptional, Shard::kWhole, Dim::kNone, Dim::kNone, "blk.{}.layer_output_scale.weight",
     "model.layers.{}.layer_scalar"},
    kRopeFactors,
});

}  // namespace

// llama.cpp, LLM_ARCH_GEMMA4; transformers, Gemma4TextConfig
const ArchSpec kGemma4{.name = "gemma4",
                       .hf_classes = kHfClasses,
                       .tensors = kTensors,
                       .norm_place = NormPlace::kSandwich,
                       .activation = Activation::kGelu,
                       .qk_norm = QkNorm::kHead,
                       .embed_scale_sqrt_d_model = true,
                       .has_window = true,
                       .full_interval = 6,
                       .has_window_heads = true,
                       .may_share_kv = true,
                       .has_value_norm = true,
                       .attn_dims = 1,
                       .hf_rope_base = 1000000,
                       .window_rope_base = 10000,
                       .softcaps = Need::kOptional,
                       .hf_flags = kHfFlags,
                       .hf_keys = {.activation = "hidden_activation", .head_dim = "global_head_dim"}};

}  // namespace realizar
