// MiniMax-M2: norms over all of q and over all of k, a part of each head rotated, experts chosen by sigmoids and
// biases.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kHfClasses[] = {"MiniMaxM2ForCausalLM"};
constexpr HfFlag kHfFlags[] = {{"use_qk_norm", true}};

constexpr auto kTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    kWq,
    kWk,
    kWv,
    kWo,
    kQRowNorm,
    kKRowNorm,
    kFfnNorm,
    with_hf(kRouter, "model.layers.{}.block_sparse_moe.gate.weight"),
    choice_bias(kRequired, "model.layers.{}.block_sparse_moe.e_score_correction_bias"),
    with_hf(kExpertGate, "model.layers.{}.block_sparse_moe.experts.{}.w1.weight"),
    with_hf(kExpertUp, "model.layers.{}.block_sparse_moe.experts.{}.w3.weight"),
    with_hf(kExpertDown, "model.layers.{}.block_sparse_moe.experts.{}.w2.weight"),
});

}  // namespace

const ArchSpec kMiniMaxM2{.name = "minimax-m2",
                          .hf_classes = kHfClasses,
                          .tensors = kTensors,
                          .qk_norm = QkNorm::kRow,
                          .moe = MoeRule::kAlways,
                          .hf_flags = kHfFlags,
                          .routing = {.score = RouteScore::kSigmoid},
                          .hf_keys = {.n_rot = "rotary_dim"}};

}  // namespace realizar
