// Tiny models of every architecture and type against reference logits that llama.cpp computed in F32: 48 ids, the last
// 16 rows; 40 ids as a prompt and 8 one at a time, and all 48 as one prompt.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/all_devices.h"
#include "support/made_model.h"
#include "support/npy.h"
#include "support/step_driver.h"
#include "support/test_data.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string name;
  double tolerance;  // largest difference, as a share of the range of the expected logits
  fs::path folder = {};
};

void PrintTo(const Case& model, std::ostream* out) {
  *out << model.name;
}

constexpr const char* kNoModels = "no_models";

void add_cases(const fs::path& folder, std::vector<Case>& list) {
  std::ifstream in(folder / "manifest.json");
  const auto manifest = nlohmann::json::parse(in, nullptr, false);
  if (manifest.is_discarded()) return;
  for (const auto& model : manifest["models"]) {
    const std::string name = model["name"];
    const bool is_here = fs::exists(folder / (name + ".gguf")) || fs::exists(folder / name) || model.contains("made");
    const bool is_known = std::ranges::any_of(list, [&](const Case& known) { return known.name == name; });
    if (is_here && !is_known) list.push_back({name, model["tolerance"], folder});
  }
}

// Those that come with the source, and others of the large data.
std::vector<Case> cases() {
  std::vector<Case> list;
  add_cases(test::source_file("tests/data/conformance"), list);
  add_cases(test::shared_file("conformance"), list);
  // A case that fails and says so, in every suite.
  return list.empty() ? std::vector<Case>{{kNoModels, 0}} : list;
}

using test::Device;

double largest_difference(const std::vector<float>& expected, std::span<const float> actual) {
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::fabs(double{expected[i]} - actual[i]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest / (*high - *low);
}

Result<ModelFile> open_model(const Case& model) {
  return test::open_conformance(model.folder, model.name);
}

std::vector<int> tokens_for(const Case& model) {
  std::ifstream in(model.folder / (model.name + ".tokens.json"));
  const auto json = nlohmann::json::parse(in);
  return json.is_array() ? json : json["tokens"];
}

class Conformance : public testing::TestWithParam<std::tuple<Case, Device>> {};

TEST_P(Conformance, LogitsAgreeWithTheReference) {
  const auto& [model, device] = GetParam();
  ASSERT_NE(model.name, kNoModels) << "expected the conformance models' manifest.json in "
                                   << test::source_file("tests/data/conformance")
                                   << "; set REALIZAR_TEST_DATA to the folder of the source";
  const auto file = open_model(model);
  ASSERT_TRUE(file.ok()) << file.error().message;
  auto backend = device.make();
  if (!backend.ok()) GTEST_SKIP() << backend.error().message;
  auto driver = test::StepDriver::open(*file, std::move(*backend), 64);
  ASSERT_TRUE(driver.ok()) << driver.error().message;

  const std::vector<int> ids = tokens_for(model);
  ASSERT_EQ(ids.size(), 48u);
  const std::vector<float> expected = test::read_npy(model.folder / (model.name + ".logits.npy"));
  ASSERT_EQ(expected.size(), size_t{16} * n_outputs((*driver)->config()));
  double worst = 0;
  for (const uint32_t n_prompt : {40u, 48u}) {
    const auto logits = (*driver)->run(ids, n_prompt, 48);
    ASSERT_TRUE(logits.ok()) << logits.error().message;
    const double difference = largest_difference(expected, std::span(*logits).last(expected.size()));
    EXPECT_LE(difference, model.tolerance) << "with a prompt of " << n_prompt;
    worst = std::max(worst, difference);
  }
  std::printf("%-16s %-10s %.2e of %.1e\n", model.name.c_str(), device.name, worst, model.tolerance);
}

// A copy of the program finds its data elsewhere than where it was built, and says where it looked.
TEST(TestData, IsWhereTheVariableSays) {
  ASSERT_TRUE(fs::exists(test::source_file("tests/data/conformance/manifest.json")));
  setenv("REALIZAR_TEST_DATA", "/nowhere", 1);
  EXPECT_EQ(test::source_file("tests/data"), "/nowhere/tests/data");
  setenv("REALIZAR_TEST_SHARED", "/nowhere", 1);
  const std::vector<Case> without_models = cases();
  unsetenv("REALIZAR_TEST_DATA");
  unsetenv("REALIZAR_TEST_SHARED");
  ASSERT_EQ(without_models.size(), 1u);
  EXPECT_EQ(without_models.front().name, kNoModels);
}

class Arithmetics : public testing::TestWithParam<Case> {};

// So that the clock may choose among levels that name the same arithmetic, and a cached prefix of one serves the
// others.
TEST_P(Arithmetics, OfOneNameGiveTheSameBits) {
  ASSERT_NE(GetParam().name, kNoModels);
  const auto file = open_model(GetParam());
  ASSERT_TRUE(file.ok()) << file.error().message;
  const std::vector<int> ids = tokens_for(GetParam());
  std::map<std::string, std::vector<float>, std::less<>> logits_of;
  for (const Device& device : test::kDevices) {
    auto backend = device.make();
    if (!backend.ok() || (*backend)->info().name != "cpu") continue;
    const std::string arithmetic((*backend)->info().arithmetic);
    auto driver = test::StepDriver::open(*file, std::move(*backend), 64);
    ASSERT_TRUE(driver.ok()) << driver.error().message;
    auto logits = (*driver)->run(ids, 40, 48);
    ASSERT_TRUE(logits.ok()) << logits.error().message;
    const auto [first, is_new] = logits_of.emplace(arithmetic, *logits);
    if (is_new) continue;
    EXPECT_EQ(std::memcmp(first->second.data(), logits->data(), logits->size() * sizeof(float)), 0)
        << device.name << " and another of " << arithmetic;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Arithmetics, testing::ValuesIn(cases()), [](const auto& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

INSTANTIATE_TEST_SUITE_P(Models, Conformance,
                         testing::Combine(testing::ValuesIn(cases()), testing::ValuesIn(test::kDevices)),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param).name + "_" + std::get<1>(test.param).name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace realizar
