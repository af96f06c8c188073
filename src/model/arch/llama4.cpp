// Llama 4 (text): experts with weighted inputs, one of them shared, in all layers or every second one. Three of four
// layers attend in chunks with a rotation; the fourth sees the whole context without one.
#include <fmt/format.h>

#include "base/try.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

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

// Norms without weights have no tensors; in GGUF, models with 128 experts have no such norms.
Result<bool> read_has_qk_norm(const ConfigKeys& keys) {
  if (keys.is_gguf()) {
    RZ_TRY(const uint32_t n_experts, read_n_experts(keys));
    return n_experts != 128;
  }
  RZ_TRY(const auto given, keys.file().metadata().get_bool("use_qk_norm"));
  return given.value_or(true);
}

constexpr Default kLlama4Defaults[] = {{.gguf = "attention.sliding_window", .value = 8192}};

Status refuse_whole_context(const ConfigKeys& keys) {
  const std::string key = keys.key("attention.sliding_window", "");
  RZ_TRY(const auto window, keys.optional_int("attention.sliding_window", "", 0, kMaxContext));
  if (window != 0) return {};
  return unsupported(
      fmt::format("{}: {} = 0 is not supported for {}", keys.file().path().string(), key, keys.spec().name), key);
}

// Windows are chunks. Layers with a rotation have norms of q and k; in the others queries grow with their position, in
// steps that begin one position early.
Status adjust_llama4(const ConfigKeys& keys, ModelConfig& c) {
  RZ_CHECK_OK(refuse_whole_context(keys));
  RZ_TRY(const bool has_qk_norm, read_has_qk_norm(keys));
  RZ_TRY(const auto step, keys.optional_int("", "floor_scale", 1, kMaxContext));
  // Some folders have a number here, which means true.
  const MetaValue* is_on = keys.file().metadata().find("attn_temperature_tuning");
  const bool is_off = is_on != nullptr && std::holds_alternative<bool>(*is_on) && !std::get<bool>(*is_on);
  change_each<AttentionConfig>(c, [&](AttentionConfig& own) {
    const bool rotates = own.rope_idx != kNoRope;
    own.is_chunked = own.window > 0;
    if (!has_qk_norm || !rotates) own.qk_norm = QkNorm::kNone;
    if (is_off || rotates) own.temperature = 0;
    own.temperature_step = step.value_or(8192);
    own.temperature_offset = 1;
  });
  change_each<ExpertsConfig>(c, [](ExpertsConfig& own) { own.weighs_input = true; });
  return {};
}

}  // namespace

const ArchSpec kLlama4{.name = "llama4",
                       .hf_classes = kLlama4HfClasses,
                       .tensors = kLlama4Tensors,
                       .qk_norm = QkNorm::kUnitHead,
                       .rope_pairs = RopePairs::kBoth,
                       .temperature = {.gguf = "attention.temperature_scale",
                                       .hf = "attn_scale",
                                       .gguf_otherwise = 0.1f,
                                       .hf_otherwise = 0.1f},
                       .window_rule = WindowRule::kByInterval,
                       .full_interval = 4,
                       .nope_interval = 4,
                       .moe = MoeRule::kAlways,
                       .defaults = kLlama4Defaults,
                       .hf_flags = kLlama4HfFlags,
                       .routing = {.score = RouteScore::kSigmoid, .renormalize = false, .n_shared = 1},
                       .hf_form = HfForm::kTransposedExperts,
                       .hf_keys = {.d_ff = "intermediate_size_mlp",
                                   .window = "attention_chunk_size",
                                   .windowed_type = "chunked_attention",
                                   .expert_layers = "moe_layers",
                                   .expert_interval = "interleave_moe_layer_step",
                                   .score = "",
                                   .rope_list = "no_rope_layers"},
                       .adjust = adjust_llama4};

}  // namespace realizar
