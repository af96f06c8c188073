// SmallThinker: experts with ReLU, chosen by the layer's input. In models with windows the first of every four layers
// sees the whole context without a rotation.
#include "base/try.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kSmallthinkerHfClasses[] = {"SmallThinkerForCausalLM"};

constexpr auto kSmallthinkerTensors =
    joined(kEnds, kAttention, kFfnNorm, with_hf(kRouter, "model.layers.{}.block_sparse_moe.primary_router.weight"),
           with_hf(kExpertGate, "model.layers.{}.block_sparse_moe.experts.{}.gate.weight"),
           with_hf(kExpertUp, "model.layers.{}.block_sparse_moe.experts.{}.up.weight"),
           with_hf(kExpertDown, "model.layers.{}.block_sparse_moe.experts.{}.down.weight"));

// If it is false, experts are scored by sigmoids.
constexpr std::string_view kSoftmaxFlag = "moe_primary_router_apply_softmax";

Status read_smallthinker_score(const ConfigKeys& keys, ModelConfig& c) {
  if (keys.is_gguf()) return {};
  RZ_TRY(const auto is_softmax, keys.file().metadata().get_bool(kSoftmaxFlag));
  change_each<ExpertsConfig>(c, [&](ExpertsConfig& own) {
    own.score = is_softmax.value_or(false) ? RouteScore::kSoftmax : RouteScore::kSigmoid;
  });
  return {};
}

void tell_smallthinker_score(const ModelConfig& c, KeyTeller& keys) {
  const auto* experts = std::get_if<ExpertsConfig>(&c.layers.front().ffn);
  keys.set("", kSoftmaxFlag, experts != nullptr && experts->score == RouteScore::kSoftmax);
}

}  // namespace

// llama.cpp, LLM_ARCH_SMALLTHINKER; PowerInfer's modeling_smallthinker.py
const ArchSpec kSmallThinker{.name = "smallthinker",
                             .hf_classes = kSmallthinkerHfClasses,
                             .tensors = kSmallthinkerTensors,
                             .activation = Activation::kRelu,
                             .window_rule = WindowRule::kFullFirst,
                             .full_interval = 4,
                             .full_lacks_rope = true,
                             .moe = MoeRule::kAlways,
                             .routing = {.input = ExpertInput::kRoutedEarly},
                             .hf_keys = {.d_ff = "moe_ffn_hidden_size",
                                         .activation = "",
                                         .n_experts = "moe_num_primary_experts",
                                         .n_experts_used = "moe_num_active_primary_experts",
                                         .expert_d_ff = "moe_ffn_hidden_size",
                                         .window = "sliding_window_size",
                                         .window_list = "sliding_window_layout",
                                         .rope_list = "rope_layout"},
                             .adjust = read_smallthinker_score,
                             .tell = tell_smallthinker_score};

}  // namespace realizar
