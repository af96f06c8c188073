// Converts every family of the table. Folders are those of support/hf_folder.h, which is independent of the program: a
// file made from one has the logits of the folder, and the tensors and keys of the GGUF file that it was written from.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "formats/gguf_writer.h"
#include "model/config_keys.h"
#include "model/config_reader.h"
#include "support/hf_families.h"
#include "support/hf_folder.h"
#include "support/made_model.h"
#include "support/reference_logits.h"
#include "support/test_data.h"
#include "tools/convert.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

using Family = test::HfFamilyCase;

std::string test_name_of(const Family& family) {
  std::string name = std::string(family.name) + "_" + test::hf_class_of(family.config);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// A path in the test's own folder for temporary files.
class Place {
 public:
  explicit Place(const std::string& name)
      : path_(fs::path(testing::TempDir()) / ("realizar_convert_" + std::to_string(::getpid()) + name)) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  const fs::path path_;
};

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected, float share) {
  ASSERT_EQ(actual.size(), expected.size());
  ASSERT_FALSE(expected.empty());
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], share * (*high - *low)) << i;
}

// A file does not distinguish these from missing ones.
std::vector<uint64_t> without_outer_ones(std::vector<uint64_t> shape) {
  shape.erase(shape.begin(), std::ranges::find_if(shape, [](uint64_t size) { return size != 1; }));
  return shape;
}

// Parts of older forms of fused tensors are separate in a new file, and a head equal to the embedding is omitted.
bool is_elsewhere(const std::string& name, const ModelFile& made) {
  const std::string layer = name.substr(0, name.rfind('.', name.size() - std::string(".weight").size() - 1) + 1);
  const std::pair<const char*, const char*> kParts[] = {{"attn_kv_b.weight", "attn_k_b.weight"},
                                                        {"ssm_in.weight", "attn_gate.weight"},
                                                        {"ffn_gate_up_exps.weight", "ffn_gate_exps.weight"}};
  for (const auto& [whole, part] : kParts) {
    if (name == layer + whole) return made.find(layer + part) != nullptr;
  }
  return name == "output.weight" && made.find("token_embd.weight") != nullptr;
}

// Norms that a folder stores less 1, and logarithms, are rounded there.
void expect_tensors_of(const ModelFile& made, const ModelFile& original) {
  for (const TensorInfo& tensor : original.tensors()) {
    const TensorInfo* own = made.find(tensor.name);
    if (own == nullptr && is_elsewhere(tensor.name, made)) continue;
    ASSERT_NE(own, nullptr) << tensor.name;
    EXPECT_EQ(without_outer_ones(own->shape), without_outer_ones(tensor.shape)) << tensor.name;
    const auto values = read_vector(*own), expected = read_vector(tensor);
    ASSERT_TRUE(values.ok() && expected.ok()) << tensor.name;
    ASSERT_EQ(values->size(), expected->size()) << tensor.name;
    for (size_t i = 0; i < values->size(); ++i) {
      ASSERT_NEAR((*values)[i], (*expected)[i], 1e-6f * std::max(1.0f, std::abs((*expected)[i])))
          << tensor.name << " " << i;
    }
  }
}

// Keys of the made models that are optional, or in an older form, and that their folders do not contain. Their effect
// is compared through the models' configs and their logits.
bool is_other_in(std::string_view key, const ModelConfig& config) {
  constexpr std::string_view kOthers[] = {"context_length",          "pooling_type",
                                          "feed_forward_length",     "attention.sliding_window_pattern",
                                          "rope.dimension_sections", "classifier.output_labels"};
  if (std::ranges::find(kOthers, key) != std::end(kOthers)) return true;
  const bool attends = std::holds_alternative<AttentionConfig>(config.layers.front().mixer);
  return !attends && key.starts_with("attention.");
}

// Each key of the architecture that both have has the same value, and both give the same model.
void expect_keys_of(const ModelFile& made, const ModelFile& original) {
  const auto config = read_config(made), expected = read_config(original);
  ASSERT_TRUE(config.ok() && expected.ok());
  const std::string arch = *original.metadata().get_string("general.architecture").value() + ".";
  size_t n_compared = 0;
  for (const auto& [key, value] : original.metadata().entries()) {
    if (!key.starts_with(arch) || is_other_in(key.substr(arch.size()), *expected)) continue;
    const MetaValue* own = made.metadata().find(key);
    if (own == nullptr) continue;
    EXPECT_EQ(to_string(*own), to_string(value)) << key;
    ++n_compared;
  }
  EXPECT_GE(n_compared, 3u);
  for (size_t i = 0; i < config->layers.size() && config->is_bidirectional == false; ++i) {
    EXPECT_EQ(config->layers[i].norm_place, expected->layers[i].norm_place);
    EXPECT_EQ(config->layers[i].mixer.index(), expected->layers[i].mixer.index());
    EXPECT_EQ(config->layers[i].ffn.index(), expected->layers[i].ffn.index());
  }
}

// The file of a model made by a test no longer exists.
void write_copy(const ModelFile& file, const fs::path& path) {
  GgufWriter writer;
  for (const GgufEntry& entry : file.gguf_entries()) writer.add_stored(entry.key, entry.value);
  for (const TensorInfo& tensor : file.tensors()) {
    writer.add_tensor(tensor.name, tensor.type, tensor.shape,
                      std::vector<std::byte>(tensor.data.begin(), tensor.data.end()));
  }
  const Status written = writer.write(path);
  ASSERT_TRUE(written.ok()) << written.error().message;
}

class ToGguf : public testing::TestWithParam<Family> {};

TEST_P(ToGguf, HasTheLogitsOfTheFolderAndTheTensorsOfTheFile) {
  const Family& family = GetParam();
  const auto original = test::open_conformance(test::source_file("tests/data/conformance"), family.name);
  ASSERT_TRUE(original.ok()) << original.error().message;
  const test::HfFolder folder(std::string("to_gguf_") + family.name + family.prefix);
  folder.write(*original, family.config, test::HfFolderForm::kF32, family.prefix, family.has_stacks);
  const Place place(test_name_of(family) + ".gguf");
  const auto report = convert(folder.path(), place.path(), {}, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  const auto made = ModelFile::open(place.path());
  ASSERT_TRUE(made.ok()) << made.error().message;
  expect_near(test::reference_logits(*made), test::reference_logits(*original), 1e-4f);
  expect_tensors_of(*made, *original);
  expect_keys_of(*made, *original);
}

class ThereAndBack : public testing::TestWithParam<std::string> {};

// A GGUF file converted to a folder, and back to a GGUF file.
TEST_P(ThereAndBack, HasTheSameLogitsTensorsAndKeys) {
  const auto original = test::open_conformance(test::source_file("tests/data/conformance"), GetParam());
  ASSERT_TRUE(original.ok()) << original.error().message;
  const Place source(GetParam() + "_source.gguf"), folder(GetParam() + "_folder"), place(GetParam() + "_back.gguf");
  write_copy(*original, source.path());
  const auto there = convert(source.path(), folder.path(), {}, {});
  ASSERT_TRUE(there.ok()) << there.error().message;
  const auto as_folder = ModelFile::open(folder.path());
  ASSERT_TRUE(as_folder.ok()) << as_folder.error().message;
  // GELU has another form in MPT's folders, and norms are rounded in folders that store them less 1.
  expect_near(test::reference_logits(*as_folder), test::reference_logits(*original),
              GetParam() == "mpt" ? 5e-4f : 1e-5f);
  const auto back = convert(folder.path(), place.path(), {}, {});
  ASSERT_TRUE(back.ok()) << back.error().message;
  const auto made = ModelFile::open(place.path());
  ASSERT_TRUE(made.ok()) << made.error().message;
  expect_tensors_of(*made, *original);
  expect_keys_of(*made, *original);
}

// Each conformance model once.
std::vector<std::string> model_names() {
  std::set<std::string> names;
  for (const Family& family : test::hf_families()) names.insert(family.name);
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(Families, ThereAndBack, testing::ValuesIn(model_names()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

INSTANTIATE_TEST_SUITE_P(Families, ToGguf, testing::ValuesIn(test::hf_families().begin(), test::hf_families().end()),
                         [](const auto& test) { return test_name_of(test.param); });

}  // namespace
}  // namespace realizar
