// Tiny models of every architecture and type against reference logits that llama.cpp computed in F32: 48 ids, the last
// 16 rows; 40 ids as a prompt and 8 one at a time, and all 48 as one prompt.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "model/config_reader.h"
#include "support/all_devices.h"
#include "support/made_model.h"
#include "support/model_kinds.h"
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

nlohmann::json models_of(const fs::path& folder) {
  std::ifstream in(folder / "manifest.json");
  const auto manifest = nlohmann::json::parse(in, nullptr, false);
  return manifest.is_discarded() ? nlohmann::json::array() : manifest["models"];
}

// Some models in the source's manifest are files of the large data, which a clone may lack.
bool is_large_data(const nlohmann::json& model) {
  return model.contains("large_data");
}

fs::path large_data_of(const nlohmann::json& model) {
  return test::shared_file(model["large_data"]);
}

bool is_here(const fs::path& folder, const std::string& name) {
  return fs::exists(folder / (name + ".gguf")) || fs::exists(folder / name);
}

// The models in the source, and those of the available large data.
std::vector<Case> cases() {
  std::vector<Case> list;
  const fs::path source = test::source_file("tests/data/conformance");
  for (const auto& model : models_of(source)) {
    const std::string name = model["name"];
    const fs::path folder = is_large_data(model) ? large_data_of(model) : source;
    if (!is_large_data(model) || is_here(folder, name)) list.push_back({name, model["tolerance"], folder});
  }
  for (const char* large : {"conformance", "conformance-families"}) {
    const fs::path folder = test::shared_file(large);
    for (const auto& model : models_of(folder)) {
      const std::string name = model["name"];
      const bool is_known = std::ranges::any_of(list, [&](const Case& known) { return known.name == name; });
      if (is_here(folder, name) && !is_known) list.push_back({name, model["tolerance"], folder});
    }
  }
  // A case that fails and explains why, in every suite.
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

// Sets an environment variable during its lifetime.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// A copy of the program looks for its data outside of its build folder, and reports where it looked.
TEST(TestData, IsWhereTheVariableSays) {
  ASSERT_TRUE(fs::exists(test::source_file("tests/data/conformance/manifest.json")));
  const Variable data("REALIZAR_TEST_DATA", "/nowhere"), shared("REALIZAR_TEST_SHARED", "/nowhere");
  EXPECT_EQ(test::source_file("tests/data"), "/nowhere/tests/data");
  const std::vector<Case> without_models = cases();
  ASSERT_EQ(without_models.size(), 1u);
  EXPECT_EQ(without_models.front().name, kNoModels);
}

class Arithmetics : public testing::TestWithParam<Case> {};

// This allows the clock to choose among levels that name the same arithmetic, and lets one level use another's cached
// prefixes.
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

std::vector<std::string> names_of_large_data() {
  std::vector<std::string> names;
  for (const auto& model : models_of(test::source_file("tests/data/conformance"))) {
    if (is_large_data(model)) names.push_back(model["name"]);
  }
  return names;
}

std::set<std::string> kinds_of(const fs::path& folder, const std::string& name) {
  const auto file = test::open_conformance(folder, name);
  if (!file.ok()) ADD_FAILURE() << file.error().message;
  const auto config = file.ok() ? read_config(*file, {.n_ctx = 64}) : file.error();
  if (!config.ok()) ADD_FAILURE() << name << ": " << config.error().message;
  return config.ok() ? test::kinds_of(*config, *file) : std::set<std::string>();
}

class LargeData : public testing::TestWithParam<std::string> {
 protected:
  // The kinds of layers in a clone without the large data, computed once.
  static const std::set<std::string>& kinds_of_a_clone() {
    static const std::set<std::string> kinds = [] {
      std::set<std::string> all;
      const fs::path source = test::source_file("tests/data/conformance");
      for (const auto& model : models_of(source)) {
        if (!is_large_data(model)) all.merge(kinds_of(source, model["name"]));
      }
      return all;
    }();
    return kinds;
  }
};

// A clone without the large data also tests all kinds of layers.
TEST_P(LargeData, HasNoKindOfLayerThatACloneLacks) {
  const auto models = models_of(test::source_file("tests/data/conformance"));
  const auto model = std::ranges::find_if(models, [](const auto& entry) { return entry["name"] == GetParam(); });
  const fs::path folder = large_data_of(*model);
  if (!is_here(folder, GetParam())) GTEST_SKIP() << folder / GetParam() << " is not there";
  for (const std::string& kind : kinds_of(folder, GetParam())) {
    EXPECT_TRUE(kinds_of_a_clone().contains(kind)) << kind;
  }
}

std::string test_name(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, LargeData, testing::ValuesIn(names_of_large_data()),
                         [](const auto& test) { return test_name(test.param); });

// Models without logits have hashes too.
TEST(MadeModels, AreWhatTheirLogitsWereComputedFor) {
  const fs::path source = test::source_file("tests/data/conformance");
  const std::vector<std::string> names = test::made_names(source);
  EXPECT_GT(names.size(), 50u);
  for (const std::string& name : names) {
    const auto file = test::open_conformance(source, name);
    EXPECT_TRUE(file.ok()) << file.error().message;
  }
}

// Otherwise logits would differ after a change in the code that makes models, without an explanation.
TEST(MadeModels, OnesThatDifferFromTheirHashesAreRefused) {
  const fs::path folder = fs::path(testing::TempDir()) / ("realizar_hashes_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const auto message_with = [&](const nlohmann::json& hash) {
    nlohmann::json model = {{"name", "small"}, {"made", "olmo2 d_model=32 n_vocab=64"}};
    if (!hash.is_null()) model["hash"] = hash;
    std::ofstream(folder / "manifest.json") << nlohmann::json{{"models", {model}}};
    const auto file = test::open_conformance(folder, "small");
    return file.ok() ? std::string() : file.error().message;
  };
  const std::string without = message_with(nullptr);
  EXPECT_NE(without.find("small: the manifest has no hash of it"), std::string::npos) << without;
  const auto right = nlohmann::json::parse("{" + without.substr(without.find("\"hash\"")) + "}")["hash"];
  EXPECT_EQ(message_with(right), "");
  for (const auto& [part, what] : {std::pair("weights", "weights"), std::pair("head", "metadata")}) {
    nlohmann::json wrong = right;
    wrong[part] = "0123456789abcdef";
    EXPECT_NE(message_with(wrong).find(std::string("small: its ") + what), std::string::npos) << message_with(wrong);
    EXPECT_NE(message_with(wrong).find("expected the hash 0123456789abcdef, actual " + right[part].get<std::string>()),
              std::string::npos)
        << message_with(wrong);
  }
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Models, Arithmetics, testing::ValuesIn(cases()),
                         [](const auto& test) { return test_name(test.param.name); });

INSTANTIATE_TEST_SUITE_P(Models, Conformance,
                         testing::Combine(testing::ValuesIn(cases()), testing::ValuesIn(test::kDevices)),
                         [](const auto& test) {
                           return test_name(std::get<0>(test.param).name + "_" + std::get<1>(test.param).name);
                         });

}  // namespace
}  // namespace realizar
