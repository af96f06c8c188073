// MiniMax-M2: norms over all heads of q and of k, a part of each head rotated, experts chosen by sigmoids and biases.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kMinimaxM2HfClasses[] = {"MiniMaxM2ForCausalLM"};
constexpr HfFlag kMinimaxM2HfFlags[] = {{"use_qk_norm", true}};

constexpr auto kMinimaxM2Tensors =
    joined(kEnds, kAttention, kQkRowNorms, kFfnNorm, kMixtralRouter,
           with_hf(kChoiceBias, "model.layers.{}.block_sparse_moe.e_score_correction_bias"), kMixtralExperts);

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
