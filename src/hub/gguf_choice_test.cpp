#include "hub/gguf_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace realizar::hub {
namespace {

std::vector<RepoFile> files_of(std::initializer_list<const char*> paths) {
  std::vector<RepoFile> files;
  for (const char* path : paths) files.push_back({path, 1, {}});
  return files;
}

// The chosen paths separated by spaces, or the error.
std::string chosen(const std::vector<RepoFile>& files, const std::string& what) {
  const auto found = choose_files(files, what, "hf:o/r");
  if (!found.ok()) return "error: " + found.error().message;
  std::string paths;
  for (const ChosenFile& one : *found) paths += (paths.empty() ? "" : " ") + one.file.path;
  return paths;
}

const std::vector<RepoFile> kQuants =
    files_of({"README.md", "M-Q4_K_M.gguf", "M-Q4_K_S.gguf", "M-UD-Q4_K_M.gguf", "M-Q8_0.gguf", "mmproj-M-F16.gguf",
              "M.F16.gguf", "q/m-q6_k-00002-of-00002.gguf", "q/m-q6_k-00001-of-00002.gguf"});

TEST(GgufChoice, TakesTheQuantizationThatIsNamed) {
  EXPECT_EQ(chosen(kQuants, "Q8_0"), "M-Q8_0.gguf");
  EXPECT_EQ(chosen(kQuants, "q8_0"), "M-Q8_0.gguf");
  EXPECT_EQ(chosen(kQuants, "F16"), "M.F16.gguf");
  EXPECT_EQ(chosen(kQuants, "UD-Q4_K_M"), "M-UD-Q4_K_M.gguf");
  EXPECT_EQ(chosen(kQuants, "Q4_K_M"), "M-Q4_K_M.gguf");
  EXPECT_EQ(chosen(kQuants, "M-Q4_K_S.gguf"), "M-Q4_K_S.gguf");
}

TEST(GgufChoice, TakesTheUsualOneWhereNoneIsNamed) {
  EXPECT_EQ(chosen(kQuants, ""), "M-Q4_K_M.gguf");
  EXPECT_EQ(chosen(files_of({"a-Q8_0.gguf", "a-F16.gguf"}), ""), "a-Q8_0.gguf");
  EXPECT_EQ(chosen(files_of({"odd-name.gguf"}), ""), "odd-name.gguf");
}

TEST(GgufChoice, TakesNoCompanionForAModel) {
  EXPECT_EQ(chosen(files_of({"G.BF16-mmproj.gguf", "G-large.BF16.gguf"}), "BF16"), "G-large.BF16.gguf");
  EXPECT_EQ(chosen(files_of({"MMPROJ-F16.gguf", "model.gguf", "imatrix.gguf"}), ""), "model.gguf");
  EXPECT_EQ(chosen(files_of({"mmproj-F16.gguf"}), "mmproj-F16.gguf"), "mmproj-F16.gguf");
}

TEST(GgufChoice, TakesPartsInAnyCaseOfLetters) {
  EXPECT_EQ(chosen(files_of({"M-Q8_0-00001-of-00002.GGUF", "m-q8_0-00002-OF-00002.gguf"}), "Q8_0"),
            "M-Q8_0-00001-of-00002.GGUF m-q8_0-00002-OF-00002.gguf");
  EXPECT_EQ(chosen(files_of({"M.GGUF", "mmproj.GGUF"}), ""), "M.GGUF");
}

TEST(GgufChoice, TakesAModelThatIsNamedForItsImportanceMatrix) {
  EXPECT_EQ(chosen(files_of({"M-imatrix-Q4_K_M.gguf", "M.imatrix.gguf"}), ""), "M-imatrix-Q4_K_M.gguf");
}

TEST(GgufChoice, KnowsAQuantizationAfterAnUnderscore) {
  EXPECT_EQ(chosen(files_of({"t_Q4_K_M.gguf", "t_Q8_0.gguf"}), "Q8_0"), "t_Q8_0.gguf");
  EXPECT_NE(chosen(files_of({"t_Q4_K_M.gguf"}), "Q4_K").find("there is no 'Q4_K'"), std::string::npos);
}

TEST(GgufChoice, BringsAllPartsOrRefuses) {
  EXPECT_EQ(chosen(kQuants, "Q6_K"), "q/m-q6_k-00001-of-00002.gguf q/m-q6_k-00002-of-00002.gguf");
  EXPECT_NE(chosen(files_of({"m-Q4_0-00001-of-00002.gguf"}), "").find("part 2 of 2 is missing"), std::string::npos);
}

TEST(GgufChoice, SaysWhatThereIs) {
  EXPECT_EQ(chosen(files_of({"b.gguf", "a.gguf"}), ""),
            "error: hf:o/r: there are several files, name one after a colon: a.gguf, b.gguf");
  EXPECT_EQ(chosen(files_of({"a-Q8_0.gguf"}), "Q4_K"), "error: hf:o/r: there is no 'Q4_K'; there are: a-Q8_0.gguf");
  EXPECT_EQ(chosen(kQuants, "x.gguf"), "error: hf:o/r: there is no file 'x.gguf'");
  EXPECT_NE(chosen(files_of({"config.json", "pytorch_model.bin"}), "").find("PyTorch"), std::string::npos);
  EXPECT_NE(chosen(files_of({"README.md"}), "").find("there is no model"), std::string::npos);
}

// The path of the model that matches, or the error.
std::string matching(const std::vector<RepoFile>& files, const std::string& pattern) {
  const auto path = matching_model(files, pattern, "hf:o/r");
  return path.ok() ? *path : "error: " + path.error().message;
}

TEST(GgufChoice, TakesTheModelThatAPatternMatches) {
  EXPECT_EQ(matching(kQuants, "*q8_0*"), "M-Q8_0.gguf");
  EXPECT_EQ(matching(kQuants, "M?F16.gguf"), "M.F16.gguf");
  EXPECT_EQ(matching(kQuants, "q/*"), "q/m-q6_k-00001-of-00002.gguf");
  EXPECT_EQ(matching(kQuants, "m-q6_k*"), "q/m-q6_k-00001-of-00002.gguf");
  EXPECT_EQ(matching(kQuants, "M-Q4_K_S.gguf"), "M-Q4_K_S.gguf");
  EXPECT_EQ(matching(kQuants, "M-Q4*"), "error: hf:o/r: several files match 'M-Q4*': M-Q4_K_M.gguf, M-Q4_K_S.gguf");
  EXPECT_EQ(matching(files_of({"a-Q8_0.gguf", "README.md"}), "*md"),
            "error: hf:o/r: no file matches '*md'; there are: a-Q8_0.gguf");
  EXPECT_EQ(matching(files_of({"README.md"}), "*"), "error: hf:o/r: there is no .gguf file");
}

TEST(GgufChoice, ListsEachModelByWhatNamesItAlone) {
  std::string list;
  for (const GgufModel& model : gguf_models(kQuants)) {
    list += model.what + (model.is_usual ? "*" : "") + " " + std::to_string(model.n_bytes) + "\n";
    EXPECT_EQ(chosen(kQuants, model.what).substr(0, model.path.size()), model.path);
  }
  EXPECT_EQ(list, "Q4_K_M* 1\nQ4_K_S 1\nM-UD-Q4_K_M.gguf 1\nQ8_0 1\nF16 1\nq6_k 2\n");
  const auto models = gguf_models(files_of({"t_Q4_K_M.gguf", "m-IQ2_XXS-00001-of-00002.gguf", "Q8/chat.gguf"}));
  ASSERT_EQ(models.size(), 2u) << "one lacks a part";
  EXPECT_EQ(models[0].what, "t_Q4_K_M.gguf");
  EXPECT_EQ(models[1].what, "Q8");
  EXPECT_TRUE(gguf_models(files_of({"config.json"})).empty());
}

TEST(GgufChoice, TakesAFolderOfSafeTensorsWithoutDoubles) {
  const auto files =
      files_of({"config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                "consolidated.safetensors", "tokenizer.json", "model.safetensors.index.json", "x.py", "onnx/model.onnx",
                "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors", "sub/other.json",
                "sub/model.safetensors", "chat_template.jinja"});
  EXPECT_EQ(chosen(files, ""),
            "config.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors tokenizer.json "
            "model.safetensors.index.json 1_Pooling/config.json 2_Dense/config.json 2_Dense/model.safetensors "
            "chat_template.jinja");
  EXPECT_EQ(chosen(files, "Q8_0"), "error: hf:o/r: there is no .gguf file, of which 'Q8_0' could be one");
}

TEST(GgufChoice, TakesTheTemplatesForToolsAndOtherUses) {
  const auto files =
      files_of({"config.json", "model.safetensors", "chat_template.json", "additional_chat_templates/tool_use.jinja",
                "additional_chat_templates/notes.txt", "other/tool_use.jinja"});
  EXPECT_EQ(chosen(files, ""),
            "config.json model.safetensors chat_template.json additional_chat_templates/tool_use.jinja");
}

}  // namespace
}  // namespace realizar::hub
