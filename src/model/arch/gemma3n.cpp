// Gemma 3n: Gemma 3 with several hidden states of a row, of which each layer computes one (AltUp), a low-rank product
// in parallel to each mixer (LAuReL), sparse gates in the first ffns, per-layer embeddings, normalized values, and last
// layers that share the keys and values of earlier ones.
#include <fmt/format.h>

#include <cmath>

#include "base/try.h"
#include "model/arch/gemma_layers.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

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

constexpr Default kGemma3nDefaults[] = {{.hf = "num_attention_heads", .value = 8},
                                        {.hf = "num_key_value_heads", .value = 2},
                                        {.hf = "head_dim", .value = 256}};

// Quantile p of the normal distribution.
double normal_quantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

// Each layer's share of gates that are set to zero, by config.json. transformers, Gemma3nTextConfig: without the key,
// models with more than ten layers have it in the first ten.
Result<std::vector<double>> read_hf_sparsity(const ConfigKeys& keys, uint32_t n_layers) {
  constexpr std::string_view kKey = "activation_sparsity_pattern";
  constexpr uint32_t kSparseLayers = 10;
  RZ_TRY(const auto given, keys.file().metadata().get_doubles(kKey));
  std::vector<double> shares = given.value_or(std::vector<double>(n_layers));
  for (uint32_t i = 0; !given && n_layers > kSparseLayers && i < kSparseLayers; ++i) shares[i] = 0.95;
  std::vector<double> n_stds;
  for (const double share : shares) {
    if (!(share >= 0 && share < 1)) {
      return out_of_range(keys.file(), kKey, "shares from 0 to below 1", fmt::format("{}", share));
    }
    n_stds.push_back(share == 0 ? kNoCut : normal_quantile(static_cast<float>(share)));
  }
  return n_stds;
}

// GGUF has the quantile of that share, and -infinity for layers without it.
Status read_sparsity(const ConfigKeys& keys, ModelConfig& c) {
  const std::string key = keys.key("activation_sparsity_scale", "activation_sparsity_pattern");
  std::optional<std::vector<double>> n_stds;
  if (keys.is_gguf()) {
    RZ_TRY(n_stds, keys.file().metadata().get_doubles(key));
  } else {
    RZ_TRY(n_stds, read_hf_sparsity(keys, c.n_layers));
  }
  if (!n_stds || n_stds->size() != c.n_layers) {
    return out_of_range(keys.file(), key, fmt::format("{} entries", c.n_layers),
                        n_stds ? std::to_string(n_stds->size()) : "nothing");
  }
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    const auto given = static_cast<float>((*n_stds)[i]);
    if (!std::isfinite(given) && given != kNoCut) {
      return out_of_range(keys.file(), key, "finite numbers, or -inf", fmt::format("{}", given));
    }
    if (auto* gated = std::get_if<GatedConfig>(&c.layers[i].ffn)) gated->n_stds = given;
  }
  return {};
}

Status adjust_gemma3n(const ConfigKeys& keys, ModelConfig& c) {
  if (c.final_softcap == 0) c.final_softcap = 30;
  RZ_TRY(const auto n_streams, keys.optional_int("altup.num_inputs", "altup_num_inputs", 2, kMaxStreams));
  c.altup.n_streams = n_streams.value_or(4);
  RZ_TRY(const auto rank, keys.optional_int("", "laurel_rank", 1, kMaxWidth));
  c.altup.laurel_rank = rank.value_or(64);
  RZ_CHECK_OK(read_sparsity(keys, c));
  return read_gemma_layers(keys, c);
}

// GGUF has the quantiles, config.json the shares of gates below them.
void tell_gemma3n(const ModelConfig& c, KeyTeller& keys) {
  tell_gemma_layers(c, keys);
  keys.set("altup.active_idx", "", uint64_t{0});
  keys.set("altup.num_inputs", "altup_num_inputs", uint64_t{c.altup.n_streams});
  keys.set("", "laurel_rank", uint64_t{c.altup.laurel_rank});
  std::vector<double> n_stds, shares;
  for (const LayerConfig& layer : c.layers) {
    const auto* gated = std::get_if<GatedConfig>(&layer.ffn);
    n_stds.push_back(gated == nullptr ? kNoCut : gated->n_stds);
    shares.push_back(n_stds.back() == kNoCut ? 0.0 : std::erfc(-n_stds.back() / std::sqrt(2.0)) / 2);
  }
  keys.set("activation_sparsity_scale", "", MetaArray(n_stds));
  keys.set("", "activation_sparsity_pattern", MetaArray(shares));
}

}  // namespace

// llama.cpp, LLM_ARCH_GEMMA3N; transformers, Gemma3nTextConfig
const ArchSpec kGemma3n{.name = "gemma3n",
                        .hf_classes = kGemma3nHfClasses,
                        .tensors = kGemma3nTensors,
                        .norm_place = NormPlace::kSandwich,
                        .activation = Activation::kGelu,
                        .qk_norm = QkNorm::kHead,
                        .embed_scale = kRootOfWidth,
                        .window_rule = WindowRule::kByInterval,
                        .full_interval = 5,
                        .hf_rope_base = 1000000,
                        .window_rope_base = 10000,
                        .softcaps = Need::kOptional,
                        .hf_n_ctx = 32768,
                        .hf_norm_eps = 1e-6f,
                        .defaults = kGemma3nDefaults,
                        .hf_flags = kGemma3nHfFlags,
                        .hf_numbers = kGemma3nHfNumbers,
                        .hf_keys = {.activation = "hidden_activation"},
                        .adjust = adjust_gemma3n,
                        .tell = tell_gemma3n};

}  // namespace realizar
