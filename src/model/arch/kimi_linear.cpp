// Kimi Linear: delta attention, and some layers with latent attention that rotates nothing; experts after some dense
// layers, one of them shared. GGUF alone.
#include <array>

#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr auto kTensors = std::to_array<TensorSpec>({
    kEmbed,
    kHead,
    kFinalNorm,
    kAttnNorm,
    whole(Role::kWq, kRequired, Dim::kQ, Dim::kModel, "blk.{}.attn_q.weight", ""),
    whole(Role::kWk, kRequired, Dim::kSsmInner, Dim::kModel, "blk.{}.attn_k.weight", ""),
    whole(Role::kWv, kRequired, Dim::kSsmInner, Dim::kModel, "blk.{}.attn_v.weight", ""),
    whole(Role::kWo, kRequired, Dim::kModel, Dim::kAttended, "blk.{}.attn_output.weight", ""),
    whole(Role::kConvQ, kRequired, Dim::kSsmInner, Dim::kTaps, "blk.{}.ssm_conv1d_q.weight", ""),
    whole(Role::kConvK, kRequired, Dim::kSsmInner, Dim::kTaps, "blk.{}.ssm_conv1d_k.weight", ""),
    whole(Role::kConvV, kRequired, Dim::kSsmInner, Dim::kTaps, "blk.{}.ssm_conv1d_v.weight", ""),
    whole(Role::kDecayLow, kRequired, Dim::kSsmGroup, Dim::kModel, "blk.{}.ssm_f_a.weight", ""),
    whole(Role::kDeltaDecay, kRequired, Dim::kSsmInner, Dim::kSsmGroup, "blk.{}.ssm_f_b.weight", ""),
    whole(Role::kGateLow, kRequired, Dim::kSsmGroup, Dim::kModel, "blk.{}.ssm_g_a.weight", ""),
    whole(Role::kDeltaGate, kRequired, Dim::kSsmInner, Dim::kSsmGroup, "blk.{}.ssm_g_b.weight", ""),
    whole(Role::kDeltaBeta, kRequired, Dim::kSsmHeads, Dim::kModel, "blk.{}.ssm_beta.weight", ""),
    whole(Role::kSsmA, kRequired, Dim::kSsmHeads, Dim::kOne, "blk.{}.ssm_a", ""),
    whole(Role::kSsmDtBias, kRequired, Dim::kSsmInner, Dim::kNone, "blk.{}.ssm_dt.bias", ""),
    whole(Role::kSsmNorm, kRequired, Dim::kSsmGroup, Dim::kNone, "blk.{}.ssm_norm.weight", ""),
    whole(Role::kWLatent, kRequired, Dim::kLatentKey, Dim::kModel, "blk.{}.attn_kv_a_mqa.weight", ""),
    whole(Role::kLatentNorm, kRequired, Dim::kLatent, Dim::kNone, "blk.{}.attn_kv_a_norm.weight", ""),
    whole(Role::kLatentKv, kOptional, Dim::kLatentKv, Dim::kLatent, "blk.{}.attn_kv_b.weight", ""),
    whole(Role::kLatentK, kRequired, Dim::kLatent, Dim::kNope, "blk.{}.attn_k_b.weight", ""),
    whole(Role::kLatentV, kRequired, Dim::kValue, Dim::kLatent, "blk.{}.attn_v_b.weight", ""),
    kFfnNorm,
    kWGate,
    kWUp,
    kWDown,
    whole(Role::kRouter, kRequired, Dim::kExperts, Dim::kModel, "blk.{}.ffn_gate_inp.weight", ""),
    whole(Role::kChoiceBias, kRequired, Dim::kExperts, Dim::kNone, "blk.{}.exp_probs_b.bias", ""),
    matrix(Role::kExpertGate, kRequired, Shard::kRows, Dim::kExpertFf, Dim::kModel, "blk.{}.ffn_gate_exps.weight", ""),
    matrix(Role::kExpertUp, kRequired, Shard::kRows, Dim::kExpertFf, Dim::kModel, "blk.{}.ffn_up_exps.weight", ""),
    matrix(Role::kExpertDown, kRequired, Shard::kCols, Dim::kModel, Dim::kExpertFf, "blk.{}.ffn_down_exps.weight", ""),
    shared_expert(Role::kSharedGate, "blk.{}.ffn_gate_shexp.weight", ""),
    shared_expert(Role::kSharedUp, "blk.{}.ffn_up_shexp.weight", ""),
    shared_expert(Role::kSharedDown, "blk.{}.ffn_down_shexp.weight", ""),
});

}  // namespace

const ArchSpec kKimiLinear{.name = "kimi-linear",
                           .hf_classes = {},
                           .tensors = kTensors,
                           .mixer = MixerKind::kLatentAttention,
                           .recurrent = MixerKind::kKimiDelta,
                           .nope_interval = 1,
                           .moe = MoeRule::kAlways,
                           .routing = {.score = RouteScore::kSigmoid},
                           .has_leading_dense = true};

}  // namespace realizar
