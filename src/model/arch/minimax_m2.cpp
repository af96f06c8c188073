// MiniMax-M2: norms over all of q and over all of k, a part of each head rotated, experts chosen by sigmoids and
// biases.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMinimaxM2HfClasses[] = {"MiniMaxM2ForCausalLM"};
constexpr HfFlag kMinimaxM2HfFlags[] = {{"use_qk_norm", true}};

constexpr auto kMinimaxM2Tensors = std::to_array<TensorSpec>({
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
                          .hf_classes = kMinimaxM2HfClasses,
                          .tensors = kMinimaxM2Tensors,
                          .qk_norm = QkNorm::kRow,
                          .moe = MoeRule::kAlways,
                          .hf_flags = kMinimaxM2HfFlags,
                          .routing = {.score = RouteScore::kSigmoid},
                          .hf_keys = {.n_rot = "rotary_dim"}};

}  // namespace realizar
