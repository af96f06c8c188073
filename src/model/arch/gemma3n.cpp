// Gemma 3n: Gemma 3 with several hidden states of a row of which each layer computes one (AltUp), a product of a low
// rank beside each mixer (LAuReL), gates of the first ffns that are cut by their row, a table of each layer's own,
// normalized values, and last layers that attend to what earlier ones keep.
#include "model/arch/list.h"
#include "model/arch/tensors.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kGemma3nHfClasses[] = {"Gemma3nForCausalLM", "Gemma3nForConditionalGeneration"};
constexpr HfFlag kGemma3nHfFlags[] = {{"altup_correct_scale", true}, {"attention_bias", false}};
constexpr HfNumber kGemma3nHfNumbers[] = {{"altup_active_idx", 0}};

constexpr auto kGemma3nTensors =
    joined(kEnds, kLayerTables,
           whole(Role::kAltUpProj, kRequired, Dim::kModel, Dim::kModel, "altup_proj.weight",
                 "model.altup_projections.{}.weight"),
           whole(Role::kAltUpUnembed, kRequired, Dim::kModel, Dim::kModel, "altup_unembd_proj.weight",
                 "model.altup_unembed_projections.{}.weight"),
           kAttention, kQkNorms, kSandwichAttnPostNorm, kSandwichFfnNorm, kGated, kSandwichFfnPostNorm, kLayerInputs,
           norm(Role::kAltUpRouterNorm, "blk.{}.altup_router_norm.weight", "model.layers.{}.altup.router_norm.weight"),
           whole(Role::kAltUpRouter, kRequired, Dim::kStreams, Dim::kModel, "blk.{}.altup_router.weight",
                 "model.layers.{}.altup.modality_router.weight"),
           whole(Role::kAltUpPredict, kRequired, Dim::kStreamPairs, Dim::kStreams, "blk.{}.altup_predict_coef.weight",
                 "model.layers.{}.altup.prediction_coefs.weight"),
           whole(Role::kAltUpCorrect, kRequired, Dim::kStreams, Dim::kStreams, "blk.{}.altup_correct_coef.weight",
                 "model.layers.{}.altup.correction_coefs.weight"),
           norm(Role::kAltUpScale, "blk.{}.altup_correct_scale.weight", "model.layers.{}.altup.correct_output_scale"),
           whole(Role::kLaurelLeft, kRequired, Dim::kLaurelRank, Dim::kModel, "blk.{}.laurel_l.weight",
                 "model.layers.{}.laurel.linear_left.weight"),
           whole(Role::kLaurelRight, kRequired, Dim::kModel, Dim::kLaurelRank, "blk.{}.laurel_r.weight",
                 "model.layers.{}.laurel.linear_right.weight"),
           norm(Role::kLaurelNorm, "blk.{}.laurel_post_norm.weight", "model.layers.{}.laurel.post_laurel_norm.weight"));

}  // namespace

// llama.cpp, LLM_ARCH_GEMMA3N; transformers, Gemma3nTextConfig
const ArchSpec kGemma3n{.name = "gemma3n",
                        .hf_classes = kGemma3nHfClasses,
                        .tensors = kGemma3nTensors,
                        .norm_place = NormPlace::kSandwich,
                        .activation = Activation::kGelu,
                        .qk_norm = QkNorm::kHead,
                        .embed_scale_sqrt_d_model = true,
                        .has_window = true,
                        .full_interval = 5,
                        .may_share_kv = true,
                        .has_value_norm = true,
                        .attn_dims = 1,
                        .hf_rope_base = 1000000,
                        .window_rope_base = 10000,
                        .softcaps = Need::kOptional,
                        .final_softcap = 30,
                        .has_activation_sparsity = true,
                        .n_streams = 4,
                        .laurel_rank = 64,
                        .hf_n_ctx = 32768,
                        .hf_n_heads = 8,
                        .hf_n_kv_heads = 2,
                        .hf_head_dim = 256,
                        .hf_norm_eps = 1e-6f,
                        .hf_flags = kGemma3nHfFlags,
                        .hf_numbers = kGemma3nHfNumbers,
                        .hf_keys = {.activation = "hidden_activation"}};

}  // namespace realizar
