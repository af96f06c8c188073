// Compared with llama.cpp's converter (gguf-py, Metadata.get_model_id_components): the expected parts are its results.
#include "tools/model_name.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

namespace realizar {
namespace {

struct NameCase {
  const char* id;
  double billions;
  const char *title, *organization, *basename, *finetune, *version, *size_label;
};

class ModelNameTest : public testing::TestWithParam<NameCase> {};

TEST_P(ModelNameTest, HasTheParts) {
  const NameCase& c = GetParam();
  const ModelName name = read_model_name(c.id, static_cast<uint64_t>(c.billions * 1e9));
  EXPECT_EQ(name.title, c.title);
  EXPECT_EQ(name.organization, c.organization);
  EXPECT_EQ(name.basename, c.basename);
  EXPECT_EQ(name.finetune, c.finetune);
  EXPECT_EQ(name.version, c.version);
  EXPECT_EQ(name.size_label, c.size_label);
}

INSTANTIATE_TEST_SUITE_P(
    Names, ModelNameTest,
    testing::Values(
        NameCase{"meta-llama/Llama-3.2-1B-Instruct", 1.2, "Llama 3.2 1B Instruct", "Meta Llama", "Llama-3.2",
                 "Instruct", "", "1B"},
        NameCase{"Qwen3-0.6B", 0.6, "Qwen3 0.6B", "", "Qwen3", "", "", "0.6B"},
        NameCase{"Mistral-7B-Instruct-v0.3", 7.2, "Mistral 7B Instruct v0.3", "", "Mistral", "Instruct", "v0.3", "7B"},
        NameCase{"mistralai/Mixtral-8x7B-v0.1", 46.7, "Mixtral 8x7B v0.1", "Mistralai", "Mixtral", "", "v0.1", "8x7B"},
        NameCase{"Phi-3-mini-128k-instruct", 3.8, "Phi 3 Mini 128k Instruct", "", "Phi-3", "128k-instruct", "", "mini"},
        NameCase{"bigscience/bloom-7b1-petals", 7.1, "Bloom 7b1 Petals", "Bigscience", "bloom", "petals", "", "7.1B"},
        NameCase{"Qwen3-30B-A3B", 30.5, "Qwen3 30B A3B", "", "Qwen3", "", "", "30B-A3B"},
        NameCase{"gpt2", 0.12, "Gpt2", "", "", "", "", ""}, NameCase{"llama-hf", 0.1, "Llama Hf", "", "", "", "", ""},
        NameCase{"My finished model", 1, "My Finished Model", "", "", "", "", ""},
        NameCase{"./here", 1, "Here", "", "", "", "", ""},
        NameCase{"all-MiniLM-L6-v2", 0.02, "All MiniLM L6 v2", "", "all-MiniLM-L6", "", "v2", ""},
        NameCase{"Llama-2-7b-hf-q4_k_m", 6.7, "Llama 2 7b Hf Q4_K_M", "", "Llama-2", "hf", "", "7B"},
        NameCase{"TinyLlama-1.1B-Chat-v1.0-fp16", 1.1, "TinyLlama 1.1B Chat v1.0 Fp16", "", "TinyLlama", "Chat", "v1.0",
                 "1.1B"},
        NameCase{"--x--", 1, "X", "", "", "", "", ""}, NameCase{"", 1, "", "", "", "", "", ""},
        NameCase{"phi-4", 14, "Phi 4", "", "phi", "", "4", ""},
        NameCase{"bert-large-xl", 0.3, "Bert Large Xl", "", "bert", "", "", "large-xl"},
        NameCase{"b-b", 1, "B B", "", "", "", "", ""},
        NameCase{"gemma-2-2b-it", 2.6, "Gemma 2 2b It", "", "gemma-2", "it", "", "2B"},
        NameCase{"step-3-0x7B", 7, "Step 3 0x7B", "", "step-3", "", "", "0x7B"},
        NameCase{"Model_7_5b-7_5b", 7.5, "Model_7_5b 7_5b", "", "Model_7_5b", "", "", "7.5B"},
        NameCase{"deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", 8.2, "DeepSeek R1 0528 Qwen3 8B", "Deepseek Ai",
                 "DeepSeek-R1-0528-Qwen3", "", "", "8B"}));

TEST(ModelName, TakesAnyBytes) {
  constexpr std::string_view kBytes = "aAbBkKmMxv-_./ 17\t\n\xff";
  std::mt19937 random(1);
  for (int trial = 0; trial < 20000; ++trial) {
    std::string id;
    for (size_t n = random() % 12; n > 0; --n) id += kBytes[random() % kBytes.size()];
    const ModelName name = read_model_name(id, random() % 2 * 7'000'000'000);
    EXPECT_LE(name.title.size(), id.size());
    EXPECT_LE(name.basename.size() + name.finetune.size() + name.version.size(), 2 * id.size());
  }
}

}  // namespace
}  // namespace realizar
