// Every trait of a config and every tensor of a file must affect the logits: each is changed by itself on a tiny random
// model, the logits must change, and the CPU backend's like the reference's.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/reference/reference_backend.h"
#include "base/result_checks.h"
#include "support/difference.h"
#include "support/step_driver.h"
#include "support/tiny_model.h"

namespace realizar {
namespace {

using Change = void (*)(ModelConfig&);
constexpr uint32_t kTokens = 20;

// Logits of every token, [kTokens, n_vocab].
std::vector<float> logits_of(const ModelFile& file, const ModelConfig& config, std::unique_ptr<Backend> backend) {
  std::vector<int> ids;
  for (uint32_t i = 0; i < kTokens; ++i) ids.push_back(static_cast<int>(i * i * 7 + 3 * i) % 40);
  return must(must(test::StepDriver::open(file, config, std::move(backend), 32))->run(ids, kTokens - 4, 7));
}

std::vector<float> reference_logits(const ModelFile& file, const ModelConfig& config) {
  return logits_of(file, config, make_reference_backend());
}

std::vector<float> cpu_logits(const ModelFile& file, const ModelConfig& config) {
  return logits_of(file, config, must(cpu::make_cpu_backend({.n_threads = 2})));
}

constexpr double kMoved = 1e-3, kAgree = 1e-4;

struct Trait {
  const char* name;
  const ArchSpec* spec;  // of the model on which it is changed
  Change change;
};

AttentionConfig& attention(ModelConfig& config, size_t layer) {
  return std::get<AttentionConfig>(config.layers[layer].mixer);
}

template <class Kind>
Kind& ffn(ModelConfig& config, size_t layer) {
  return std::get<Kind>(config.layers[layer].ffn);
}

const Trait kTraits[] = {
    {"layer_rope", &kLlama, [](ModelConfig& c) { attention(c, 1).rope_idx = kNoRope; }},
    {"layer_rope_idx", &kLlama,
     [](ModelConfig& c) {
       c.ropes.push_back(c.ropes[0]);
       for (float& f : c.ropes[1].inv_freq) f *= 0.5f;
       attention(c, 1).rope_idx = 1;
     }},
    {"layer_window", &kLlama, [](ModelConfig& c) { attention(c, 1).window = 5; }},
    {"norm_kind", &kLlama, [](ModelConfig& c) { c.norm = NormKind::kLayer; }},
    {"norm_parallel", &kLlama, [](ModelConfig& c) { c.layers[1].norm_place = NormPlace::kParallel; }},
    {"norm_post", &kOlmo2, [](ModelConfig& c) { c.layers[1].norm_place = NormPlace::kSandwich; }},
    {"norm_parallel_apart", &kGptNeoX, [](ModelConfig& c) { c.layers[1].norm_place = NormPlace::kPre; }},
    {"norm_sandwich", &kGemma2, [](ModelConfig& c) { c.layers[1].norm_place = NormPlace::kPre; }},
    {"norm_eps", &kLlama, [](ModelConfig& c) { c.norm_eps = 0.1f; }},
    {"qk_norm", &kQwen3, [](ModelConfig& c) { attention(c, 1).qk_norm = QkNorm::kNone; }},
    {"qk_norm_of_each_head", &kStableLm, [](ModelConfig& c) { attention(c, 1).qk_norm = QkNorm::kRow; }},
    {"qk_norm_of_all_heads", &kOlmo2, [](ModelConfig& c) { attention(c, 1).qk_norm = QkNorm::kOwnHead; }},
    {"qk_norms_last", &kHunYuanDense, [](ModelConfig& c) { attention(c, 1).norms_last = false; }},
    {"qkv_clip", &kOlmo, [](ModelConfig& c) { attention(c, 1).clip = 0.5f; }},
    {"attn_temperature", &kMistral3,
     [](ModelConfig& c) {
       attention(c, 1).temperature = 0.5f;
       attention(c, 1).temperature_step = 8;
     }},
    {"latent_temperature", &kMistral4,
     [](ModelConfig& c) {
       std::get<LatentAttentionConfig>(c.layers[1].mixer).temperature = 0.5f;
       std::get<LatentAttentionConfig>(c.layers[1].mixer).temperature_step = 8;
     }},
    {"attn_values", &kGemma4, [](ModelConfig& c) { attention(c, 1).values = Values::kOwn; }},
    {"attn_values_of_keys", &kGemma4, [](ModelConfig& c) { attention(c, 1).values = Values::kNormedKeys; }},
    {"attn_kv_layer", &kGemma4, [](ModelConfig& c) { attention(c, 1).kv_layer = 0; }},
    {"xielu_alpha_p", &kApertus, [](ModelConfig& c) { ffn<PlainConfig>(c, 1).xielu.alpha_p *= 2; }},
    {"xielu_alpha_n", &kApertus, [](ModelConfig& c) { ffn<PlainConfig>(c, 1).xielu.alpha_n *= 2; }},
    {"xielu_beta", &kApertus, [](ModelConfig& c) { ffn<PlainConfig>(c, 1).xielu.beta *= 2; }},
    {"xielu_eps", &kApertus, [](ModelConfig& c) { ffn<PlainConfig>(c, 1).xielu.eps = -0.5f; }},
    {"attn_alibi", &kBloom, [](ModelConfig& c) { attention(c, 1).alibi = 4; }},
    {"attn_alibi_is_scaled", &kBloom, [](ModelConfig& c) { attention(c, 1).alibi_is_scaled = true; }},
    {"layer_scale", &kGemma4, [](ModelConfig& c) { c.layers[0].out_scale = 0.5f; }},
    {"qkv_rows", &kFalcon, [](ModelConfig& c) { attention(c, 1).qkv_rows = QkvRows::kByKvHead; }},
    {"gelu", &kLlama, [](ModelConfig& c) { ffn<GatedConfig>(c, 1).activation = Activation::kGelu; }},
    {"relu", &kGpt2, [](ModelConfig& c) { ffn<PlainConfig>(c, 1).activation = Activation::kRelu; }},
    {"rope_n_rot", &kQwen2,
     [](ModelConfig& c) {
       c.ropes[0].n_rot = 4;
       c.ropes[0].inv_freq.resize(2);
     }},
    {"rope_interleaved", &kLlama, [](ModelConfig& c) { attention(c, 1).n_interleaved = 0; }},
    {"rope_inv_freq", &kLlama, [](ModelConfig& c) { c.ropes[0].inv_freq[1] *= 2; }},
    {"rope_scale", &kLlama, [](ModelConfig& c) { c.ropes[0].scale = 1.3f; }},
    {"learned_positions", &kGpt2, [](ModelConfig& c) { c.learned_positions = false; }},
    {"moe_n_used", &kQwen3Moe, [](ModelConfig& c) { ffn<ExpertsConfig>(c, 1).n_used = 3; }},
    {"moe_renormalize", &kQwen3Moe, [](ModelConfig& c) { ffn<ExpertsConfig>(c, 1).renormalize = false; }},
    {"moe_scale", &kQwen3Moe, [](ModelConfig& c) { ffn<ExpertsConfig>(c, 1).scale = 1.5f; }},
    {"moe_score", &kQwen2Moe, [](ModelConfig& c) { ffn<ExpertsConfig>(c, 1).score = RouteScore::kSigmoid; }},
    {"moe_sparse_mixer", &kPhiMoe,
     [](ModelConfig& c) {
       ffn<ExpertsConfig>(c, 1).score = RouteScore::kSparseMixer;
       ffn<ExpertsConfig>(c, 1).renormalize = false;
     }},
    {"moe_near_share", &kPhiMoe,
     [](ModelConfig& c) {
       ffn<ExpertsConfig>(c, 1).score = RouteScore::kSparseMixer;
       ffn<ExpertsConfig>(c, 1).renormalize = false;
       ffn<ExpertsConfig>(c, 1).near_share = 0.5f;
     }},
    {"moe_groups", &kQwen3Moe,
     [](ModelConfig& c) {
       ffn<ExpertsConfig>(c, 1).n_groups = 2;
       ffn<ExpertsConfig>(c, 1).n_group_best = 2;
     }},
    {"moe_shared_router", &kQwen2Moe, [](ModelConfig& c) { ffn<ExpertsConfig>(c, 1).has_shared_router = false; }},
    {"layer_chunks", &kLlama,
     [](ModelConfig& c) {
       attention(c, 1).window = 5;
       attention(c, 1).is_chunked = true;
     }},
    {"qk_norm_without_weights", &kLlama, [](ModelConfig& c) { attention(c, 1).qk_norm = QkNorm::kUnitHead; }},
    {"moe_weighs_input", &kQwen3Moe, [](ModelConfig& c) { ffn<ExpertsConfig>(c, 1).weighs_input = true; }},
    {"moe_routed_early", &kSmallThinker,
     [](ModelConfig& c) { ffn<ExpertsConfig>(c, 1).input = ExpertInput::kFfnInput; }},
    {"moe_of_layer_input", &kArctic, [](ModelConfig& c) { ffn<ExpertsConfig>(c, 1).input = ExpertInput::kFfnInput; }},
    {"moe_own_norms", &kGemma4Moe, [](ModelConfig& c) { ffn<ExpertsConfig>(c, 1).input = ExpertInput::kFfnInput; }},
    {"moe_out_scale", &kArctic, [](ModelConfig& c) { ffn<ExpertsConfig>(c, 1).out_scale = 0.5f; }},
    {"clamped_swiglu", &kGptOss, [](ModelConfig& c) { ffn<ExpertsConfig>(c, 1).activation = Activation::kSilu; }},
    {"key_heads_in_turn", &kQwen35,
     [](ModelConfig& c) { std::get<DeltaNetConfig>(c.layers[0].mixer).key_heads_in_turn = false; }},
    {"mamba2_norm", &kMamba2, [](ModelConfig& c) { std::get<Mamba2Config>(c.layers[0].mixer).has_norm = false; }},
    {"mamba2_scales", &kMamba2,
     [](ModelConfig& c) { std::get<Mamba2Config>(c.layers[0].mixer).scales = {.x = 2, .b = 0.5f, .dt = 0.7f}; }},
    {"attn_out_scale", &kLlama, [](ModelConfig& c) { attention(c, 1).out_scale = 1.5f; }},
    {"ffn_out_scale", &kLlama, [](ModelConfig& c) { ffn<GatedConfig>(c, 1).out_scale = 1.5f; }},
    {"ffn_in_scale", &kLlama, [](ModelConfig& c) { c.layers[1].ffn_in_scale = 1.5f; }},
    {"mixers_beside", &kFalconH1, [](ModelConfig& c) { c.layers[1].norm_place = NormPlace::kPre; }},
    {"mamba_norms", &kMamba, [](ModelConfig& c) { std::get<MambaConfig>(c.layers[0].mixer).has_norms = true; }},
    {"rwkv7_norm_eps", &kRwkv7, [](ModelConfig& c) { std::get<Rwkv7Config>(c.layers[1].mixer).norm_eps = 0.5f; }},
    {"rwkv7_first_values", &kRwkv7, [](ModelConfig& c) { std::get<Rwkv7Config>(c.layers[1].mixer).is_first = true; }},
    {"embed_scale", &kGpt2, [](ModelConfig& c) { c.embed_scale = 2.0f; }},
    {"residual_scale", &kGranite, [](ModelConfig& c) { c.residual_scale = 0.7f; }},
    {"logit_scale", &kGranite, [](ModelConfig& c) { c.logit_scale = 0.7f; }},
    {"attn_scale", &kLlama, [](ModelConfig& c) { attention(c, 1).scale *= 1.5f; }},
    {"attn_softcap", &kGemma2, [](ModelConfig& c) { attention(c, 1).softcap = 0; }},
    {"unit_head", &kLlama, [](ModelConfig& c) { c.has_unit_head = true; }},
    {"ffn_cut", &kGemma3n, [](ModelConfig& c) { ffn<GatedConfig>(c, 1).n_stds = 1.0f; }},
    {"ffn_no_cut", &kGemma3n, [](ModelConfig& c) { ffn<GatedConfig>(c, 1).n_stds = kNoCut; }},
    {"final_softcap", &kGemma2, [](ModelConfig& c) { c.final_softcap = 0; }},
};

class TraitLiveness : public testing::TestWithParam<Trait> {};

TEST_P(TraitLiveness, MovesTheLogitsOnEveryBackend) {
  const auto file = must(test::tiny_model(*GetParam().spec).open());
  auto config = must(read_config(file));
  const auto before = reference_logits(file, config);
  GetParam().change(config);
  const auto after = reference_logits(file, config);
  EXPECT_GT(test::difference(before, after), kMoved);
  EXPECT_TRUE(std::isfinite(test::difference(before, after)));
  EXPECT_LT(test::difference(after, cpu_logits(file, config)), kAgree);
}

INSTANTIATE_TEST_SUITE_P(Traits, TraitLiveness, testing::ValuesIn(kTraits),
                         [](const auto& test) { return std::string(test.param.name); });

// Each kind has its own tensors: with another one in one layer the file lacks that layer's gate.
TEST(KindLiveness, AnFfnOfAnotherKindInOneLayerMovesTheLogits) {
  test::TinyModel model = test::tiny_model(kLlama);
  const auto gated = must(model.open());
  ModelConfig config = *read_config(gated);
  const auto before = reference_logits(gated, config);
  std::erase_if(model.tensors, [](const test::TinyTensor& tensor) { return tensor.name == "blk.1.ffn_gate.weight"; });
  config.layers[1].ffn = PlainConfig{ffn<GatedConfig>(config, 1).d_ff, Activation::kSilu};
  const auto mixed = must(model.open());
  const auto after = reference_logits(mixed, config);
  EXPECT_GT(test::difference(before, after), kMoved);
  EXPECT_LT(test::difference(after, cpu_logits(mixed, config)), kAgree);
}

struct Architecture {
  std::string name;
  const ArchSpec* spec;
  bool with_experts;
  test::TinyDims dims = {};
};

void PrintTo(const Architecture& architecture, std::ostream* out) {
  *out << architecture.name;
}

std::vector<Architecture> architectures() {
  std::vector<Architecture> list{{"mixtral", &kLlama, true},
                                 {"llama_with_ffn_biases", &kLlama, false, {.has_ffn_biases = true}},
                                 {"nemotron_h_moe_behind_a_latent", &kNemotronHMoe, true, {.expert_latent = 12}},
                                 {"nomic_bert_moe_with_dense_layers", &kNomicBertMoe, false, {.expert_interval = 2}}};
  for (const ArchSpec* spec : all_architectures()) list.push_back({test::test_name(*spec), spec, false});
  return list;
}

class TensorLiveness : public testing::TestWithParam<Architecture> {};

TEST_P(TensorLiveness, EveryTensorMovesTheLogits) {
  test::TinyModel model = test::tiny_model(*GetParam().spec, GetParam().with_experts, GetParam().dims);
  const auto file = must(model.open());
  const auto config = must(read_config(file));
  const auto before = reference_logits(file, config);
  EXPECT_LT(test::difference(before, cpu_logits(file, config)), kAgree);
  for (test::TinyTensor& tensor : model.tensors) {
    // The final norm removes the last layer's factor.
    if (tensor.role == Role::kLayerScale && tensor.name.starts_with("blk.1.")) continue;
    // Without rotations it adds the same to all of a row's scores.
    if (tensor.role == Role::kBk && config.ropes.empty()) continue;
    const std::vector<float> kept = tensor.values;
    // Rows change unevenly: a common factor would vanish in a softmax or a norm.
    for (size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] *= i % 3 == 0 ? 2.0f : 0.5f;
    const auto changed = must(model.open());
    // Some of a file's tensors are read with its config.
    const auto changed_config = must(read_config(changed));
    EXPECT_GT(test::difference(before, reference_logits(changed, changed_config)), kMoved) << tensor.name;
    tensor.values = kept;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, TensorLiveness, testing::ValuesIn(architectures()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace realizar
