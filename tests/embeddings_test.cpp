// Encoders through the engine: llama.cpp's pooled vectors of a text, on every backend; and texts that share a step give
// the same bits as each by itself.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/prefixes.h"
#include "realizar/request.h"
#include "support/all_devices.h"
#include "support/engine_rig.h"
#include "support/made_model.h"
#include "support/test_data.h"
#include "support/tiny_model.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

using test::Device;

engine::EngineOptions options_for(uint32_t n_ctx, uint32_t max_seqs) {
  return {.n_ctx = n_ctx, .max_seqs = max_seqs, .block_tokens = 16, .kv_type = KvType::kF32, .whole_prompts = true};
}

nlohmann::json json_of(const fs::path& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in, nullptr, false);
}

std::vector<TokenId> tokens_of(const std::vector<int>& ids) {
  std::vector<TokenId> tokens;
  for (const int id : ids) tokens.push_back(TokenId{id});
  return tokens;
}

std::vector<float> of_length_1(std::vector<float> values) {
  double square_sum = 0;
  for (const float x : values) square_sum += double{x} * x;
  for (float& x : values) x = static_cast<float>(x / std::sqrt(square_sum));
  return values;
}

// Every model of the conformance folder with a pooled reference.
std::vector<std::string> models() {
  std::vector<std::string> names;
  constexpr std::string_view kEnd = ".pooled.json";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(test::source_file("tests/data/conformance"), error)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(kEnd)) names.push_back(name.substr(0, name.size() - kEnd.size()));
  }
  std::ranges::sort(names);
  return names;
}

class Embeddings : public testing::TestWithParam<std::tuple<std::string, Device>> {};

TEST_P(Embeddings, ArePooledAsTheReferencePools) {
  const auto& [name, device] = GetParam();
  const fs::path folder = test::source_file("tests/data/conformance");
  const auto file = test::open_conformance(folder, name);
  ASSERT_TRUE(file.ok()) << file.error().message;
  auto backend = device.make();
  if (!backend.ok()) GTEST_SKIP() << backend.error().message;
  const auto config = read_config(*file, {.n_ctx = 64});
  ASSERT_TRUE(config.ok()) << config.error().message;
  engine::EngineOptions options = options_for(64, 1);
  options.whole_prompts = config->is_bidirectional;
  test::EngineRig rig(*file, std::move(*backend), options);
  Request request;
  request.prompt = tokens_of(json_of(folder / (name + ".tokens.json")));
  request.pooling = config->pooling;
  const auto generation = rig->generate(request, {});
  ASSERT_TRUE(generation.ok()) << generation.error().message;
  std::vector<float> expected = json_of(folder / (name + ".pooled.json"));
  if (config->pooling != Pooling::kRank) expected = of_length_1(expected);
  ASSERT_EQ(generation->embedding.size(), expected.size());
  // For two scores the reference has the probabilities.
  std::vector<float> actual = generation->embedding;
  if (config->n_labels == 2) {
    const float share = 1 / (1 + std::exp(actual[1] - actual[0]));
    actual = {share, 1 - share};
  }
  // The reference uses GELU by tanh instead of the exact one, which differs by up to 5e-4.
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-3) << i;
}

INSTANTIATE_TEST_SUITE_P(Models, Embeddings,
                         testing::Combine(testing::ValuesIn(models()), testing::ValuesIn(test::kDevices)),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param) + "_" + std::get<1>(test.param).name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class PackedTexts : public testing::TestWithParam<Device> {};

// Odd lengths around blocks, pieces and parts of the context.
TEST_P(PackedTexts, GiveTheBitsThatEachGivesAlone) {
  for (const Pooling pooling : {Pooling::kMean, Pooling::kFirst, Pooling::kLast, Pooling::kRank}) {
    const auto file =
        test::tiny_model(kBert, false, {.n_ctx = 320, .n_labels = pooling == Pooling::kRank ? 3u : 0u}).open();
    ASSERT_TRUE(file.ok()) << file.error().message;
    auto backend = GetParam().make();
    if (!backend.ok()) GTEST_SKIP() << backend.error().message;
    test::EngineRig rig(*file, std::move(*backend), options_for(320, 4));
    std::vector<Request> requests;
    for (const uint32_t n : {1u, 16u, 33u, 7u, 300u, 15u, 257u, 2u}) {
      Request request;
      request.prompt = test::some_tokens(n, 7 + n, 80);  // of both types
      request.pooling = pooling;
      requests.push_back(std::move(request));
    }
    const auto together = rig->generate_all(requests);
    ASSERT_TRUE(together.ok()) << together.error().message;
    for (size_t i = 0; i < requests.size(); ++i) {
      const auto alone = rig->generate(requests[i], {});
      ASSERT_TRUE(alone.ok()) << alone.error().message;
      const std::vector<float>&expected = alone->embedding, &actual = (*together)[i].embedding;
      ASSERT_EQ(actual.size(), expected.size());
      EXPECT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)), 0) << "text " << i;
    }
    EXPECT_EQ(rig->prefixes().blocks().n_free(), rig->prefixes().blocks().n_blocks()) << "no text keeps anything";
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, PackedTexts, testing::ValuesIn(test::kDevices),
                         [](const auto& test) { return std::string(test.param.name); });

test::EngineRig tiny_encoder(const ModelFile& file) {
  return {file, make_reference_backend(), options_for(64, 2)};
}

TEST(Encoders, RefuseWhatTheyCannotGive) {
  const auto file = test::tiny_model(kBert).open();
  ASSERT_TRUE(file.ok()) << file.error().message;
  test::EngineRig rig = tiny_encoder(*file);
  Request request;
  request.prompt = test::some_tokens(5, 3, 40);
  const auto text = rig->generate(request, {});
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("encoder"), std::string::npos);
  request.pooling = Pooling::kRank;
  EXPECT_FALSE(rig->generate(request, {}).ok()) << "it has no scores";
  request.pooling = Pooling::kMean;
  request.prompt = test::some_tokens(65, 3, 40);
  EXPECT_EQ(rig->generate(request, {}).error().code, ErrorCode::kContextLengthExceeded);
  request.prompt = {TokenId{80}};  // two types of 40 tokens
  EXPECT_EQ(rig->generate(request, {}).error().code, ErrorCode::kInvalidArgument);
}

TEST(Encoders, ATokensTypeMovesTheVector) {
  const auto file = test::tiny_model(kBert).open();
  ASSERT_TRUE(file.ok()) << file.error().message;
  test::EngineRig rig = tiny_encoder(*file);
  Request request;
  request.pooling = Pooling::kMean;
  request.prompt = test::some_tokens(5, 3, 40);
  const auto first = rig->generate(request, {}).value().embedding;
  request.prompt.back() = TokenId{to_index(request.prompt.back()) + 40};
  EXPECT_NE(rig->generate(request, {}).value().embedding, first);
}

}  // namespace
}  // namespace realizar
