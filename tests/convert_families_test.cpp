// Converts every family of the table. Folders are those of support/hf_folder.h, which is independent of the program: a
// file made from one has the logits of the folder, and the tensors and keys of the GGUF file that it was written from.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "formats/gguf_writer.h"
#include "model/config_keys.h"
#include "model/config_reader.h"
#include "support/difference.h"
#include "support/hf_families.h"
#include "support/hf_folder.h"
#include "support/logits.h"
#include "support/made_model.h"
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
  must(writer.write(path));
}

class ToGguf : public testing::TestWithParam<Family> {};

TEST_P(ToGguf, HasTheLogitsOfTheFolderAndTheTensorsOfTheFile) {
  const Family& family = GetParam();
  const auto original = must(test::open_conformance(test::source_file("tests/data/conformance"), family.name));
  const test::HfFolder folder;
  folder.write(original, family.config, test::HfFolderForm::kF32, family.prefix, family.has_stacks);
  const TempFolder place;
  must(convert(folder, place / "made.gguf", {}, {}));
  const auto made = must(ModelFile::open(place / "made.gguf"));
  EXPECT_LE(test::difference(test::reference_logits(original), test::reference_logits(made)), 1e-4);
  expect_tensors_of(made, original);
  expect_keys_of(made, original);
}

class ThereAndBack : public testing::TestWithParam<std::string> {};

// A GGUF file converted to a folder, and back to a GGUF file.
TEST_P(ThereAndBack, HasTheSameLogitsTensorsAndKeys) {
  const auto original = must(test::open_conformance(test::source_file("tests/data/conformance"), GetParam()));
  const TempFolder place;
  const fs::path source = place / "source.gguf", folder = place / "folder", back = place / "back.gguf";
  write_copy(original, source);
  must(convert(source, folder, {}, {}));
  const auto as_folder = must(ModelFile::open(folder));
  // GELU has another form in MPT's folders, and norms are rounded in folders that store them less 1.
  EXPECT_LE(test::difference(test::reference_logits(original), test::reference_logits(as_folder)),
            GetParam() == "mpt" ? 5e-4 : 1e-5);
  must(convert(folder, back, {}, {}));
  const auto made = must(ModelFile::open(back));
  expect_tensors_of(made, original);
  expect_keys_of(made, original);
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
