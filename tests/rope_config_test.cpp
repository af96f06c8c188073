// The table of rotary frequencies against the rules of the papers, calculated by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "model/model.h"
#include "support/tiny_model.h"

namespace realizar {
namespace {

// 8 dimensions turn by 10000^(-i / 4).
constexpr float kPlain[] = {1.0f, 0.1f, 0.01f, 0.001f};

RopeConfig rope_of(const test::TinyModel& model, uint32_t n_ctx = 0) {
  const auto file = model.open();
  EXPECT_TRUE(file.ok());
  const auto config = read_config(*file, {.n_ctx = n_ctx});
  EXPECT_TRUE(config.ok()) << config.error().message;
  return config.ok() ? config->ropes.at(0) : RopeConfig();
}

TEST(RopeConfig, PlainFrequencies) {
  const RopeConfig rope = rope_of(test::tiny_model(kLlama));
  ASSERT_EQ(rope.inv_freq.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(rope.inv_freq[i], kPlain[i]);
  EXPECT_EQ(rope.scale, 1.0f);
}

TEST(RopeConfig, PartialRotationHasItsOwnExponents) {
  test::TinyModel model = test::tiny_model(kQwen2);
  model.keys["qwen2.rope.dimension_count"] = 4u;
  model.keys["qwen2.rope.freq_base"] = 100.0f;
  const RopeConfig rope = rope_of(model);
  ASSERT_EQ(rope.inv_freq.size(), 2u);
  EXPECT_FLOAT_EQ(rope.inv_freq[0], 1.0f);
  EXPECT_FLOAT_EQ(rope.inv_freq[1], 0.1f);
}

TEST(RopeConfig, OfWindowsHasABaseOfItsOwnAndIsNotStretched) {
  test::TinyModel model = test::tiny_model(kGemma3);
  model.keys["gemma3.rope.freq_base"] = 16.0f;
  model.keys["gemma3.rope.scaling.factor"] = 4.0f;
  const auto ropes_of = [&model] {
    const auto config = read_config(*model.open());
    EXPECT_TRUE(config.ok()) << config.error().message;
    return config.ok() ? config->ropes : std::vector<RopeConfig>(2, RopeConfig{8, {0, 0, 0, 0}});
  };
  const auto ropes = ropes_of();
  ASSERT_EQ(ropes.size(), 2u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(ropes[0].inv_freq[i], 0.25f / static_cast<float>(1 << i));
    EXPECT_FLOAT_EQ(ropes[1].inv_freq[i], kPlain[i]);
  }
  model.keys["gemma3.rope.freq_base_swa"] = 16.0f;
  EXPECT_FLOAT_EQ(ropes_of()[1].inv_freq[1], 0.5f);
}

TEST(RopeConfig, LinearScalingWithAndWithoutItsName) {
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    test::TinyModel model = test::tiny_model(kLlama);
    model.keys[key] = 4.0f;
    for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(rope_of(model).inv_freq[i], kPlain[i] / 4);
    model.keys["llama.rope.scaling.type"] = std::string("linear");
    for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(rope_of(model).inv_freq[i], kPlain[i] / 4);
    model.keys["llama.rope.scaling.type"] = std::string("none");
    for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(rope_of(model).inv_freq[i], kPlain[i]);
  }
}

TEST(RopeConfig, FactorsOfTheFileDivide) {
  test::TinyModel model = test::tiny_model(kLlama);
  model.tensors.push_back({"rope_freqs.weight", Role::kRopeFactors, {4}, {1, 2, 4, 8}});
  const RopeConfig rope = rope_of(model);
  for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(rope.inv_freq[i], kPlain[i] / static_cast<float>(1 << i));
}

TEST(RopeConfig, YarnKeepsHighFrequenciesAndScalesAttention) {
  test::TinyModel model = test::tiny_model(kLlama);
  model.keys["llama.rope.scaling.type"] = std::string("yarn");
  model.keys["llama.rope.scaling.factor"] = 4.0f;
  model.keys["llama.rope.scaling.original_context_length"] = 32u;
  const RopeConfig rope = rope_of(model);
  // beta 32: 8 ln(32 / 64 pi) / (2 ln 10000) = -0.79, so 0; beta 1: 8 ln(32 / 2 pi) / (2 ln 10000) = 0.71, so 1.
  EXPECT_FLOAT_EQ(rope.inv_freq[0], kPlain[0]);
  for (size_t i = 1; i < 4; ++i) EXPECT_FLOAT_EQ(rope.inv_freq[i], kPlain[i] / 4);
  EXPECT_FLOAT_EQ(rope.scale, 1 + 0.1f * std::log(4.0f));
}

TEST(RopeConfig, LongRopeChoosesByTheContextInUse) {
  test::TinyModel model = test::tiny_model(kPhi3);
  model.keys["phi3.rope.scaling.original_context_length"] = 16u;
  model.keys["phi3.rope.scaling.attn_factor"] = 1.25f;
  model.tensors.push_back({"rope_factors_short.weight", Role::kRopeShort, {4}, {1, 1, 2, 2}});
  model.tensors.push_back({"rope_factors_long.weight", Role::kRopeLong, {4}, {2, 4, 8, 16}});
  EXPECT_FLOAT_EQ(rope_of(model, 16).inv_freq[2], kPlain[2] / 2);
  EXPECT_FLOAT_EQ(rope_of(model, 17).inv_freq[2], kPlain[2] / 8);
  EXPECT_FLOAT_EQ(rope_of(model, 0).inv_freq[3], kPlain[3] / 16);  // the training context: 64
  EXPECT_FLOAT_EQ(rope_of(model, 16).scale, 1.25f);
}

Result<ModelConfig> config_with(const test::TinyModel& model, const RopeSettings& rope, uint32_t n_ctx = 0) {
  const auto file = model.open();
  EXPECT_TRUE(file.ok());
  return read_config(*file, {.n_ctx = n_ctx, .rope = rope});
}

RopeConfig rope_with(const test::TinyModel& model, const RopeSettings& rope, uint32_t n_ctx = 0) {
  const auto config = config_with(model, rope, n_ctx);
  EXPECT_TRUE(config.ok()) << config.error().message;
  return config.ok() ? config->ropes.at(0) : RopeConfig();
}

test::TinyModel yarn_model() {
  test::TinyModel model = test::tiny_model(kLlama);
  model.keys["llama.rope.scaling.type"] = std::string("yarn");
  model.keys["llama.rope.scaling.factor"] = 4.0f;
  model.keys["llama.rope.scaling.original_context_length"] = 32u;
  return model;
}

TEST(RopeSettings, GiveTheSameAsAFileThatSaysSo) {
  const RopeConfig said = rope_of(yarn_model());
  const RopeConfig asked =
      rope_with(test::tiny_model(kLlama), {.scaling = RopeStretch::kYarn, .factor = 4, .n_ctx_original = 32});
  EXPECT_EQ(asked.inv_freq, said.inv_freq);
  EXPECT_EQ(asked.scale, said.scale);
  const RopeConfig linear = rope_with(test::tiny_model(kLlama), {.scaling = RopeStretch::kLinear, .factor = 4});
  for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(linear.inv_freq[i], kPlain[i] / 4);
}

TEST(RopeSettings, ReplaceWhatTheFileSays) {
  test::TinyModel model = yarn_model();
  model.tensors.push_back({"rope_freqs.weight", Role::kRopeFactors, {4}, {1, 2, 4, 1e30f}});
  const RopeConfig none = rope_with(model, {.scaling = RopeStretch::kNone});
  for (size_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(none.inv_freq[i], kPlain[i]);
  EXPECT_LT(none.inv_freq[3], 1e-20f) << "a pair that never turns is no scaling";
  EXPECT_EQ(none.scale, 1.0f);
}

// transformers, modeling_rope_utils: the base grows by (factor * n / trained - factor + 1) ^ (8 / 6).
TEST(RopeSettings, DynamicGrowsTheBaseWithTheContext) {
  const test::TinyModel model = test::tiny_model(kLlama);  // 64 positions
  const RopeSettings dynamic{.scaling = RopeStretch::kDynamic, .factor = 2};
  for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(rope_with(model, dynamic, 64).inv_freq[i], kPlain[i]);
  const double base = 10000 * std::pow(3, 8.0 / 6);
  EXPECT_FLOAT_EQ(rope_with(model, dynamic, 128).inv_freq[1], static_cast<float>(std::pow(base, -0.25)));
}

TEST(RopeSettings, StretchTheContext) {
  const test::TinyModel model = test::tiny_model(kLlama);
  EXPECT_EQ(config_with(model, {})->n_ctx, 64u);
  EXPECT_EQ(config_with(model, {.scaling = RopeStretch::kLinear, .factor = 2.5})->n_ctx, 160u);
  EXPECT_EQ(config_with(model, {.scaling = RopeStretch::kYarn, .factor = 4, .n_ctx_original = 32})->n_ctx, 128u);
  EXPECT_EQ(config_with(model, {.scaling = RopeStretch::kYarn, .factor = 1000})->n_ctx, 8192u);
  EXPECT_EQ(config_with(yarn_model(), {.scaling = RopeStretch::kNone})->n_ctx, 32u);
  EXPECT_EQ(config_with(model, {.scaling = RopeStretch::kLinear, .factor = 2}, 100)->n_ctx, 100u);
}

TEST(RopeSettings, AreRefusedByField) {
  const auto expect_refused = [](const test::TinyModel& model, const RopeSettings& rope, const char* field) {
    const auto config = config_with(model, rope);
    ASSERT_FALSE(config.ok()) << field;
    EXPECT_EQ(config.error().code, ErrorCode::kInvalidArgument) << config.error().message;
    EXPECT_EQ(config.error().subject, field) << config.error().message;
  };
  const test::TinyModel model = test::tiny_model(kLlama);
  for (const double factor : {0.0, -1.0, double{NAN}, double{INFINITY}}) {
    expect_refused(model, {.scaling = RopeStretch::kYarn, .factor = factor}, "rope_factor");
  }
  expect_refused(model, {.scaling = RopeStretch::kLinear}, "rope_factor");
  expect_refused(model, {.factor = 2}, "rope_factor");
  expect_refused(model, {.scaling = RopeStretch::kNone, .factor = 2}, "rope_factor");
  expect_refused(model, {.n_ctx_original = 32}, "rope_original_context");
  expect_refused(test::tiny_model(kGpt2), {.scaling = RopeStretch::kLinear, .factor = 2}, "rope_scaling");
}

}  // namespace
}  // namespace realizar
