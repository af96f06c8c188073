// Llama 4 (text): experts in all layers or in every second one, one of them shared, whose inputs are weighed; three of
// four layers attend in chunks and rotate, the fourth sees the whole context without a rotation.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kLlama4HfClasses[] = {"Llama4ForCausalLM", "Llama4ForConditionalGeneration"};
constexpr HfFlag kLlama4HfFlags[] = {{"attention_bias", false}};

constexpr auto kLlama4Tensors =
    joined(kEnds, kAttention, kFfnNorm, with_hf(kWGate, "model.layers.{}.feed_forward.gate_proj.weight"),
           with_hf(kWUp, "model.layers.{}.feed_forward.up_proj.weight"),
           with_hf(kWDown, "model.layers.{}.feed_forward.down_proj.weight"),
           with_hf(kRouter, "model.layers.{}.feed_forward.router.weight"), gguf_only(kExpertGate), gguf_only(kExpertUp),
           fused_experts("model.layers.{}.feed_forward.experts.gate_up_proj"),
           with_hf(kExpertDown, "model.layers.{}.feed_forward.experts.down_proj"),
           with_hf(kSharedGate, "model.layers.{}.feed_forward.shared_expert.gate_proj.weight"),
           with_hf(kSharedUp, "model.layers.{}.feed_forward.shared_expert.up_proj.weight"),
           with_hf(kSharedDown, "model.layers.{}.feed_forward.shared_expert.down_proj.weight"), kRopeFactors);

}  // namespace

const ArchSpec kLlama4{
    .name = "llama4",
    .hf_classes = kLlama4HfClasses,
    .tensors = kLlama4Tensors,
    .qk_norm = QkNorm::kUnitHead,
    .gguf_interleaved_rope = true,
    .hf_interleaved_rope = true,
    .temperature = {.gguf = "attention.temperature_scale",
                    .hf = "attn_scale",
                    .gguf_otherwise = 0.1f,
                    .hf_otherwise = 0.1f},
    .has_window = true,
    .has_chunks = true,
    .nope_has_temperature = true,
    .temperature_step = 8192,
    .full_interval = 4,
    .nope_interval = 4,
    .gguf_experts_without_qk_norm = 128,
    .gguf_window = 8192,
    .moe = MoeRule::kAlways,
    .hf_flags = kLlama4HfFlags,
    .routing = {.score = RouteScore::kSigmoid, .renormalize = false, .n_shared = 1, .weighs_input = true},
    .hf_form = HfForm::kTransposedExperts,
    .hf_keys = {.d_ff = "intermediate_size_mlp",
                .window = "attention_chunk_size",
                .expert_layers = "moe_layers",
                .expert_interval = "interleave_moe_layer_step",
                .score = "",
                .rope_list = "no_rope_layers"}};

}  // namespace realizar
