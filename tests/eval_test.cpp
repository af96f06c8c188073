// The bundled model's dialogues: the greedy answers of a float32 reference implementation. Plain types must reproduce
// every answer, quantized files 99 of 100.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "realizar/engine.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

struct File {
  const char* name;  // in the folder of the model's other files, or the bundled one
  double share;      // share of answers that must be reproduced
};

void PrintTo(const File& file, std::ostream* out) {
  *out << file.name;
}

fs::path path_of(const File& file) {
  const fs::path bundled = fs::path(RZ_SOURCE_DIR) / "models/realizar-tiny" / file.name;
  return fs::exists(bundled) ? bundled : fs::path(RZ_SHARED_DIR) / "tiny-model" / file.name;
}

class Evaluation : public testing::TestWithParam<File> {};

TEST_P(Evaluation, AnswersAsTheReferenceDoes) {
  const fs::path path = path_of(GetParam());
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not here";
  auto model = LanguageModel::load(path.string());
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::ifstream in(fs::path(RZ_SOURCE_DIR) / "tests/data/eval.jsonl");
  int n_cases = 0, n_same = 0;
  for (std::string line; std::getline(in, line); ++n_cases) {
    const auto dialogue = nlohmann::ordered_json::parse(line);
    const auto prompt = model->apply_chat_template(nlohmann::ordered_json{{"messages", dialogue["messages"]}}.dump());
    ASSERT_TRUE(prompt.ok()) << prompt.error().message;
    Request request;
    request.prompt = *prompt;
    request.sampling.temperature = 0;
    request.max_tokens = 120;
    const auto answer = model->generate_text(request, {});
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    const std::string reference = dialogue["reference"];
    if (answer->text == reference)
      ++n_same;
    else
      std::printf("%s: '%s' instead of '%s'\n", GetParam().name, answer->text.c_str(), reference.c_str());
  }
  std::printf("%s: %d of %d answers reproduced\n", GetParam().name, n_same, n_cases);
  EXPECT_EQ(n_cases, 300);
  EXPECT_GE(n_same, GetParam().share * n_cases);
}

INSTANTIATE_TEST_SUITE_P(Files, Evaluation,
                         testing::Values(File{"realizar-tiny-Q8_0.gguf", 0.99}, File{"realizar-tiny-F16.gguf", 1.0},
                                         File{"hf", 1.0}, File{"realizar-tiny-Q6_K.gguf", 0.99},
                                         File{"realizar-tiny-Q5_K_M.gguf", 0.99},
                                         File{"realizar-tiny-Q4_K_M.gguf", 0.99},
                                         File{"realizar-tiny-Q4_0.gguf", 0.99}),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

}  // namespace
}  // namespace realizar
