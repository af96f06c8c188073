// A model shared by several ranks gives the same as one process: with whole layers each, bit for bit; with parts of
// every layer, except for the order of sums, and then the same tokens whatever else is computed with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "backend/cpu/cpu_backend.h"
#include "backend/reference/reference_backend.h"
#include "model/config_reader.h"
#include "support/made_model.h"
#include "support/step_driver.h"
#include "support/test_data.h"
#include "support/thread_ranks.h"

namespace realizar::test {
namespace {

using ranks::RankOptions;
using ranks::RankSplit;
namespace fs = std::filesystem;

constexpr uint32_t kContext = 64, kPrompt = 40, kTokens = 48;

const fs::path& folder() {
  static const fs::path kFolder = source_file("tests/data/conformance");
  return kFolder;
}

std::vector<std::string> model_names() {
  std::ifstream in(folder() / "manifest.json");
  const auto manifest = nlohmann::json::parse(in, nullptr, false);
  std::vector<std::string> names;
  if (manifest.is_discarded()) return names;
  for (const auto& model : manifest["models"]) {
    if (!model.contains("large_data")) names.push_back(model["name"]);
  }
  return names;
}

std::vector<int> tokens_for(const std::string& name) {
  std::ifstream in(folder() / (name + ".tokens.json"));
  const auto json = nlohmann::json::parse(in);
  return json.is_array() ? json : json["tokens"];
}

Result<std::unique_ptr<Backend>> make_own(Exchange* exchange) {
  return cpu::make_cpu_backend({.n_threads = 1, .exchange = exchange});
}

Result<std::vector<float>> logits_on(const ModelFile& file, Result<std::unique_ptr<Backend>> backend,
                                     const std::vector<int>& ids) {
  RZ_TRY(auto made, std::move(backend));
  RZ_TRY(const auto driver, StepDriver::open(file, std::move(made), kContext));
  return driver->run(ids, kPrompt, 16);
}

// The largest one, as a share of the range.
double difference(const std::vector<float>& expected, const std::vector<float>& actual) {
  if (expected.size() != actual.size()) return INFINITY;
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double one = std::fabs(double{expected[i]} - actual[i]);
    largest = std::isnan(one) ? INFINITY : std::max(largest, one);
  }
  return largest / (*high - *low);
}

class RanksOfModel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto opened = open_conformance(folder(), GetParam());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    file_ = std::make_unique<ModelFile>(std::move(*opened));
    const auto config = read_config(*file_, {.n_ctx = kContext});
    ASSERT_TRUE(config.ok()) << config.error().message;
    n_layers_ = config->n_layers;
    ids_ = tokens_for(GetParam());
    const auto one = logits_on(*file_, make_own(nullptr), ids_);
    ASSERT_TRUE(one.ok()) << one.error().message;
    one_ = *one;
  }
  Result<std::vector<float>> shared(RankSplit split, uint32_t n_ranks) const {
    const RankOptions options{.split = split, .n_layers = n_layers_};
    return logits_on(*file_, make_thread_ranks(n_ranks, options, make_own), ids_);
  }

  std::unique_ptr<ModelFile> file_;
  uint32_t n_layers_ = 0;
  std::vector<int> ids_;
  std::vector<float> one_;
};

TEST_P(RanksOfModel, WithLayersOfTheirOwnGiveTheBitsOfOneProcess) {
  for (const uint32_t n_ranks : {2u, 3u}) {
    if (n_ranks > n_layers_) continue;
    const auto logits = shared(RankSplit::kLayer, n_ranks);
    if (!logits.ok() && logits.error().message.find("read the cache of layer") != std::string::npos) continue;
    ASSERT_TRUE(logits.ok()) << logits.error().message;
    EXPECT_EQ(one_, *logits) << "with " << n_ranks << " ranks";
  }
}

TEST_P(RanksOfModel, WithPartsOfEveryLayerGiveTheLogitsOfOneProcess) {
  for (const RankSplit split : {RankSplit::kTensor, RankSplit::kExpert}) {
    for (const uint32_t n_ranks : {2u, 3u, 4u}) {
      const auto logits = shared(split, n_ranks);
      ASSERT_TRUE(logits.ok()) << logits.error().message;
      EXPECT_LE(difference(one_, *logits), 0.02) << "with " << n_ranks << " ranks";
      std::printf("%-24s %u %.1e\n", GetParam().c_str(), n_ranks, difference(one_, *logits));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RanksOfModel, testing::ValuesIn(model_names()), [](const auto& test) {
  std::string name = test.param;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace realizar::test
