// Invalid model files: each case breaks one thing of a tiny model that loads, and the error must name it.
#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/reference/reference_backend.h"
#include "base/try.h"
#include "model/config_keys.h"
#include "model/model.h"
#include "support/tiny_model.h"

namespace realizar {
namespace {

using test::TinyModel;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

Result<ModelConfig> config_of(const TinyModel& model) {
  RZ_TRY(const ModelFile file, model.open());
  return read_config(file);
}

template <class T>
std::string said_of(const Result<T>& result) {
  return result.ok() ? "nothing" : result.error().message;
}

Status checked(const ModelFile& file, const ModelOptions& options) {
  RZ_TRY(const ModelConfig config, read_config(file, options));
  return check_tensors(file, config);
}

// A check without a backend must give the same result, except for a load that was cancelled.
Result<ModelConfig> load(const TinyModel& model, const ModelOptions& options = {}) {
  RZ_TRY(const ModelFile file, model.open());
  const auto backend = make_reference_backend();
  RZ_CHECK_OK(backend->configure({.max_rows = 8, .max_logit_rows = 8, .max_context = 64}));
  const auto loaded = Model::load(file, *backend, options);
  const bool is_cancelled = !loaded.ok() && loaded.error().code == ErrorCode::kCancelled;
  EXPECT_EQ(said_of(checked(file, options)), is_cancelled ? "nothing" : said_of(loaded));
  if (!loaded.ok()) return loaded.error();
  return loaded->config();
}

template <class T>
AssertionResult refused(const Result<T>& result, ErrorCode code, const std::vector<std::string>& said) {
  if (result.ok()) return AssertionFailure() << "accepted";
  const Error& error = result.error();
  if (error.code != code) return AssertionFailure() << to_string(error.code) << ": " << error.message;
  for (const std::string& part : said) {
    if (error.message.find(part) == std::string::npos) {
      return AssertionFailure() << "'" << part << "' is not in: " << error.message;
    }
  }
  return AssertionSuccess();
}

std::string shape_text(const std::vector<uint64_t>& shape) {
  std::string text;
  for (const uint64_t size : shape) text += (text.empty() ? "[" : ", ") + std::to_string(size);
  return text + "]";
}

TEST(ModelRefusals, UnknownArchitectureByNameWithTheKnownOnes) {
  TinyModel model = test::tiny_model(kLlama);
  model.keys["general.architecture"] = std::string("unheard_of");
  EXPECT_TRUE(
      refused(load(model), ErrorCode::kUnsupported, {"'unheard_of'", "llama", "qwen3moe", "Gemma2ForCausalLM"}));
  model.keys.erase("general.architecture");
  EXPECT_TRUE(refused(load(model), ErrorCode::kFormatError, {"general.architecture"}));
}

class EveryArchitecture : public testing::TestWithParam<const ArchSpec*> {
 protected:
  TinyModel model_ = test::tiny_model(*GetParam());
  std::string key(std::string_view name) const { return std::string(GetParam()->name) + "." + std::string(name); }
};

TEST_P(EveryArchitecture, LoadsWhole) {
  const auto loaded = load(model_);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
}

TEST_P(EveryArchitecture, MissingTensorByNameAndShape) {
  for (size_t i = 0; i < model_.tensors.size(); ++i) {
    const auto& specs = GetParam()->tensors;
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&](const TensorSpec& t) { return t.role == model_.tensors[i].role; });
    if (spec->need == Need::kOptional || model_.tensors[i].name == GetParam()->marker.gguf) continue;
    TinyModel spoiled = model_;
    spoiled.tensors.erase(spoiled.tensors.begin() + static_cast<ptrdiff_t>(i));
    std::vector<uint64_t> shape = model_.tensors[i].shape;
    const bool is_embed = model_.tensors[i].role == Role::kEmbed;  // which defines n_vocab
    EXPECT_TRUE(refused(load(spoiled), ErrorCode::kNotFound,
                        {model_.tensors[i].name, is_embed ? "[n_vocab, d_model]" : shape_text(shape)}));
  }
}

TEST_P(EveryArchitecture, MisshapenTensorWithBothShapes) {
  for (size_t i = 0; i < model_.tensors.size(); ++i) {
    TinyModel spoiled = model_;
    test::TinyTensor& tensor = spoiled.tensors[i];
    tensor.shape.back() += 1;
    tensor.values.resize(tensor.values.size() / (tensor.shape.back() - 1) * tensor.shape.back());
    EXPECT_TRUE(refused(load(spoiled), ErrorCode::kFormatError,
                        {tensor.name, shape_text(model_.tensors[i].shape), shape_text(tensor.shape)}));
  }
}

TEST_P(EveryArchitecture, UnclaimedTensorByName) {
  model_.tensors.push_back({"blk.1.attn_unknown.weight", Role::kIgnored, {3}, {1, 2, 3}});
  EXPECT_TRUE(refused(load(model_), ErrorCode::kUnsupported, {"blk.1.attn_unknown.weight", "[3]"}));
}

TEST_P(EveryArchitecture, LayerBeyondTheCountIsUnclaimed) {
  model_.keys[key("block_count")] = 1u;
  for (auto& own : model_.keys) {
    if (auto* list = std::get_if<std::vector<int32_t>>(&own.second)) list->resize(1);
    if (auto* list = std::get_if<std::vector<float>>(&own.second)) list->resize(1);
  }
  if (knows_role(*GetParam(), Role::kLayerTable)) {  // a table of all layers defines it first
    EXPECT_TRUE(refused(load(model_), ErrorCode::kFormatError, {"per_layer_model_proj.weight"}));
    return;
  }
  EXPECT_TRUE(refused(load(model_), ErrorCode::kUnsupported, {"blk.1."}));
}

TEST_P(EveryArchitecture, MissingKeyByName) {
  const char* epsilon =
      GetParam()->norm == NormKind::kRms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
  const bool has_attention =
      GetParam()->mixer == MixerKind::kAttention || GetParam()->mixer == MixerKind::kLatentAttention;
  for (const char* name :
       {"block_count", "embedding_length", "feed_forward_length", "context_length", "attention.head_count", epsilon}) {
    TinyModel spoiled = model_;
    spoiled.keys.erase(key(name));
    if (GetParam() == &kGpt2 && std::string_view(name) == "feed_forward_length") continue;
    if (GetParam()->ffn == FfnKind::kNone && std::string_view(name) == "feed_forward_length") continue;
    if (!has_attention && std::string_view(name) == "attention.head_count") continue;
    EXPECT_TRUE(refused(config_of(spoiled), ErrorCode::kFormatError, {key(name)})) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryArchitecture,
                         testing::ValuesIn(all_architectures().begin(), all_architectures().end()),
                         [](const auto& test) { return test::test_name(*test.param); });

struct BadValue {
  const char* key;
  test::TinyValue value;
};

TEST(ModelRefusals, ValuesOutOfRangeByKey) {
  const BadValue kBad[] = {
      {"block_count", 0u},
      {"block_count", 1u << 20},
      {"block_count", 2.5f},
      {"embedding_length", 0u},
      {"embedding_length", 0xffffffffu},
      {"attention.head_count", 0u},
      {"attention.head_count", 0x80000000u},
      {"attention.head_count_kv", 3u},  // does not divide 4 heads
      {"attention.head_count_kv", 0u},
      {"attention.key_length", 1u << 16},
      {"feed_forward_length", 0u},
      {"context_length", 0u},
      {"context_length", 0xffffffffu},
      {"attention.layer_norm_rms_epsilon", 0.0f},
      {"attention.layer_norm_rms_epsilon", -1e-5f},
      {"attention.layer_norm_rms_epsilon", NAN},
      {"attention.layer_norm_rms_epsilon", std::string("small")},
      {"rope.dimension_count", 10u},  // heads have 8
      {"rope.freq_base", -1.0f},
      {"rope.freq_base", INFINITY},
      {"rope.scaling.factor", 0.0f},
      {"attention.sliding_window", 0xffffffffu},
  };
  for (const BadValue& bad : kBad) {
    TinyModel model = test::tiny_model(kLlama);
    model.keys[std::string("llama.") + bad.key] = bad.value;
    EXPECT_TRUE(refused(config_of(model), ErrorCode::kFormatError, {bad.key}));
  }
}

TEST(ModelRefusals, OddSizesOfHeads) {
  TinyModel model = test::tiny_model(kLlama);
  model.keys["llama.attention.key_length"] = 7u;
  EXPECT_TRUE(refused(config_of(model), ErrorCode::kFormatError, {"head_dim", "7"}));
  model.keys["llama.attention.key_length"] = 8u;
  model.keys["llama.rope.dimension_count"] = 5u;
  EXPECT_TRUE(refused(config_of(model), ErrorCode::kFormatError, {"even", "5"}));
}

TEST(ModelRefusals, ExpertsOutOfRange) {
  TinyModel model = test::tiny_model(kQwen3Moe);
  model.keys["qwen3moe.expert_used_count"] = 5u;  // of 4
  EXPECT_TRUE(refused(config_of(model), ErrorCode::kFormatError, {"expert_used_count", "5"}));
  model.keys.erase("qwen3moe.expert_used_count");
  EXPECT_TRUE(refused(config_of(model), ErrorCode::kFormatError, {"expert_used_count"}));
  model.keys.erase("qwen3moe.expert_count");
  EXPECT_TRUE(refused(config_of(model), ErrorCode::kFormatError, {"expert_count"}));
}

TEST(ModelRefusals, RoutesThatNoFamilyHas) {
  TinyModel model = test::tiny_model(kQwen2Moe);
  model.keys["qwen2moe.expert_gating_func"] = 4u;
  EXPECT_TRUE(refused(config_of(model), ErrorCode::kUnsupported, {"expert_gating_func", "4"}));
  model.keys.erase("qwen2moe.expert_gating_func");
  model.keys["qwen2moe.expert_group_count"] = 3u;  // of 4 experts
  model.keys["qwen2moe.expert_group_used_count"] = 2u;
  EXPECT_TRUE(refused(config_of(model), ErrorCode::kFormatError, {"expert_group_count", "3"}));
  model.keys["qwen2moe.expert_group_count"] = 4u;
  model.keys["qwen2moe.expert_group_used_count"] = 1u;  // one expert, of which a token wants two
  EXPECT_TRUE(refused(config_of(model), ErrorCode::kFormatError, {"expert_group_count", "4"}));
  model.keys["qwen2moe.expert_group_used_count"] = 2u;
  EXPECT_TRUE(config_of(model).ok());
  model.keys["qwen2moe.leading_dense_block_count"] = 1u;
  EXPECT_TRUE(refused(config_of(model), ErrorCode::kUnsupported, {"leading_dense_block_count", "1"}));
  TinyModel unshared = test::tiny_model(kQwen3Moe);
  unshared.keys["qwen3moe.expert_shared_count"] = 1u;
  EXPECT_TRUE(refused(config_of(unshared), ErrorCode::kUnsupported, {"1 shared experts", "qwen3moe"}));
}

TEST(ModelRefusals, TraitsOfOtherModelsByKey) {
  const BadValue kForeign[] = {
      {"logit_scale", 0.5f},
      {"embedding_scale", 12.0f},
      {"residual_scale", 0.2f},
      {"attention.scale", 0.1f},
      {"attention.temperature_scale", 0.1f},
      {"expert_gating_func", 2u},
      {"expert_shared_count", 1u},
      {"attention.causal", false},
      {"expert_weights_norm", false},
      {"expert_weights_scale", 2.5f},
      {"attention.clamp_kqv", 8.0f},
  };
  for (const BadValue& foreign : kForeign) {
    TinyModel model = test::tiny_model(kLlama);
    model.keys[std::string("llama.") + foreign.key] = foreign.value;
    EXPECT_TRUE(refused(config_of(model), ErrorCode::kUnsupported, {foreign.key}));
  }
  TinyModel model = test::tiny_model(kLlama);
  model.keys["llama.logit_scale"] = 1.0f;  // without effect
  model.keys["llama.attention.causal"] = true;
  EXPECT_TRUE(config_of(model).ok());
}

TEST(ModelRefusals, WhatAFamilyHasElsewhereByKey) {
  TinyModel gemma = test::tiny_model(kGemma4);
  gemma.keys["gemma4.expert_count"] = 8u;
  EXPECT_TRUE(refused(config_of(gemma), ErrorCode::kUnsupported, {"expert_count", "8"}));
  gemma.keys.erase("gemma4.expert_count");
  gemma.keys["gemma4.attention.shared_kv_layers"] = 2u;  // of 2 layers
  EXPECT_TRUE(refused(config_of(gemma), ErrorCode::kFormatError, {"shared_kv_layers", "2"}));
  TinyModel gemma3n = test::tiny_model(kGemma3n);
  gemma3n.keys["gemma3n.altup.active_idx"] = 1u;
  EXPECT_TRUE(refused(config_of(gemma3n), ErrorCode::kUnsupported, {"altup.active_idx", "1"}));
  gemma3n.keys["gemma3n.altup.active_idx"] = 0u;
  gemma3n.keys["gemma3n.altup.num_inputs"] = 5u;
  EXPECT_TRUE(refused(config_of(gemma3n), ErrorCode::kFormatError, {"altup.num_inputs", "5"}));
  gemma3n.keys["gemma3n.altup.num_inputs"] = 4u;
  EXPECT_TRUE(config_of(gemma3n).ok());
  for (const std::vector<float>& scales : {std::vector<float>{1.0f}, {1.0f, INFINITY}, {1.0f, NAN}}) {
    gemma3n.keys["gemma3n.activation_sparsity_scale"] = scales;
    EXPECT_TRUE(refused(config_of(gemma3n), ErrorCode::kFormatError, {"activation_sparsity_scale"}));
  }
  gemma3n.keys.erase("gemma3n.activation_sparsity_scale");
  EXPECT_TRUE(refused(config_of(gemma3n), ErrorCode::kFormatError, {"activation_sparsity_scale", "nothing"}));
  TinyModel mpt = test::tiny_model(kMpt);
  mpt.keys["mpt.attention.max_alibi_bias"] = 0.0f;  // then it has learned positions
  EXPECT_TRUE(refused(config_of(mpt), ErrorCode::kUnsupported, {"max_alibi_bias", "mpt"}));
  TinyModel llama4 = test::tiny_model(kLlama4);
  llama4.keys["llama4.attention.sliding_window"] = 0u;
  EXPECT_TRUE(refused(config_of(llama4), ErrorCode::kUnsupported, {"sliding_window = 0", "llama4"}));
  TinyModel apertus = test::tiny_model(kApertus);
  apertus.keys.erase("xielu.beta");
  EXPECT_TRUE(refused(config_of(apertus), ErrorCode::kFormatError, {"xielu.beta", "nothing"}));
}

TEST(ModelRefusals, RopeScalingByName) {
  TinyModel model = test::tiny_model(kLlama);
  for (const char* kind : {"dynamic", "ntk", "mrope"}) {
    model.keys["llama.rope.scaling.type"] = std::string(kind);
    EXPECT_TRUE(refused(config_of(model), ErrorCode::kUnsupported, {kind}));
  }
  model.keys["llama.rope.scaling.type"] = std::string("yarn");
  EXPECT_TRUE(refused(config_of(model), ErrorCode::kFormatError, {"original context"}));
}

TEST(ModelRefusals, RopeFactorsThatAreNotNumbers) {
  for (const float bad : {0.0f, -1.0f, NAN}) {
    TinyModel model = test::tiny_model(kLlama);
    model.tensors.push_back({"rope_freqs.weight", Role::kRopeFactors, {4}, {1, 1, bad, 1}});
    EXPECT_TRUE(refused(config_of(model), ErrorCode::kFormatError, {"rope_freqs.weight"}));
  }
  TinyModel model = test::tiny_model(kLlama);
  model.tensors.push_back({"rope_freqs.weight", Role::kRopeFactors, {3}, {1, 1, 1}});
  EXPECT_TRUE(refused(config_of(model), ErrorCode::kFormatError, {"expected 4", "actual 3"}));
}

TEST(ModelLoading, AbsentHeadIsTheEmbedding) {
  TinyModel model = test::tiny_model(kLlama);
  std::erase_if(model.tensors, [](const auto& tensor) { return tensor.role == Role::kHead; });
  const auto file = model.open();
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto backend = make_reference_backend();
  ASSERT_TRUE(backend->configure({.max_context = 64}).ok());
  const auto loaded = Model::load(*file, *backend);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->weights().head, loaded->weights().embed);
}

TEST(ModelLoading, OneTensorAnExpertIsTheSameAsAStack) {
  TinyModel model = test::tiny_model(kLlama, true);
  const test::TinyTensor stack = model.tensor("blk.0.ffn_gate_exps.weight");
  std::erase_if(model.tensors, [&](const auto& tensor) { return tensor.name == stack.name; });
  const size_t n = stack.values.size() / stack.shape[0];
  for (size_t expert = 0; expert < stack.shape[0]; ++expert) {
    const auto begin = stack.values.begin() + static_cast<ptrdiff_t>(expert * n);
    model.tensors.push_back({"blk.0.ffn_gate." + std::to_string(expert) + ".weight",
                             stack.role,
                             {stack.shape[1], stack.shape[2]},
                             {begin, begin + static_cast<ptrdiff_t>(n)}});
  }
  const auto loaded = load(model);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  model.tensors.pop_back();
  EXPECT_TRUE(refused(load(model), ErrorCode::kNotFound, {"blk.0.ffn_gate.3.weight", "[24, 32]"}));
}

TEST(ModelRefusals, WhatTheBackendCannotRunBeforeAnyWeightIsLoaded) {
  const auto load_with = [](uint32_t n_used, Backend& backend) -> Status {
    RZ_TRY(const ModelFile file, test::tiny_model(kQwen3Moe, true, {.n_experts = 40, .n_used = n_used}).open());
    RZ_CHECK_OK(backend.configure({.max_rows = 8, .max_logit_rows = 8, .max_context = 64}));
    RZ_CHECK_OK(Model::load(file, backend));
    return {};
  };
  const auto cpu = std::move(*cpu::make_cpu_backend({.n_threads = 1}));
  const Status refused = load_with(33, *cpu);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused.error().subject, "n_experts_used");
  EXPECT_EQ(refused.error().message,
            "the cpu backend runs models of at most 32 experts per token, and this one has 33");
  EXPECT_EQ(cpu->info().weight_bytes, 0u);
  EXPECT_TRUE(load_with(32, *cpu).ok());
  EXPECT_TRUE(load_with(17, *make_reference_backend()).ok()) << "which has no bound";
}

TEST(ModelLoading, LayersThatPredictFurtherTokensAreLeftOut) {
  TinyModel model = test::tiny_model(kGlm4Moe, true, {.n_layers = 3});
  model.tensors.push_back({"blk.2.nextn.eh_proj.weight", Role::kIgnored, {3}, {1, 2, 3}});
  EXPECT_TRUE(refused(load(model), ErrorCode::kUnsupported, {"blk.2.nextn.eh_proj.weight"}));
  model.keys["glm4moe.nextn_predict_layers"] = 1u;
  const auto loaded = load(model);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->n_layers, 2u);
  model.keys["glm4moe.nextn_predict_layers"] = 3u;
  EXPECT_TRUE(refused(load(model), ErrorCode::kFormatError, {"nextn_predict_layers", "3"}));
}

TEST(ModelLoading, ProgressGrowsAndCancels) {
  const TinyModel model = test::tiny_model(kLlama);
  uint64_t last = 0, total = 0;
  const auto counted = load(model, {.progress = [&](uint64_t done, uint64_t all) {
                              EXPECT_GE(done, last);
                              last = done, total = all;
                              return true;
                            }});
  EXPECT_TRUE(counted.ok());
  EXPECT_GT(last, 0u);
  EXPECT_LE(last, total);
  EXPECT_TRUE(refused(load(model, {.progress = [](uint64_t, uint64_t) { return false; }}), ErrorCode::kCancelled, {}));
}

}  // namespace
}  // namespace realizar
