#include "cli/run_words.h"

#include <gtest/gtest.h>

namespace realizar::cli {
namespace {

constexpr const char* kModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";

struct Case {
  std::vector<std::string> words;
  std::optional<std::string> model, prompt;
};

TEST(RunWords, AreModelAndPrompt) {
  const std::optional<std::string> none;
  const Case cases[] = {
      {{}, none, none},
      {{kModel}, kModel, none},
      {{kModel, "Hello"}, kModel, "Hello"},
      {{kModel, "tell", "me", "a", "story"}, kModel, "tell me a story"},
      {{kModel, "-"}, kModel, "-"},
      {{"What is it?"}, none, "What is it?"},
      {{"What is it?", "Tell me."}, none, "What is it? Tell me."},
      {{"one\ttab"}, none, "one\ttab"},
      {{"-"}, none, "-"},
      {{""}, none, ""},
  };
  for (const Case& c : cases) {
    const RunWords read = read_run_words(c.words, false);
    EXPECT_EQ(read.model, c.model);
    EXPECT_EQ(read.prompt, c.prompt);
  }
}

TEST(RunWords, BeginWithAModelWhereTheFirstHasNoSpace) {
  for (const char* word :
       {"deepseek-r1", "llama3", "lama3", "tinyllama", "qwen2.5-coder", "mine", "hello", "Summarize:", "org/name",
        "qwen3:1.7b", "hf:o/r", "ollama:llama9", "https://example.com/m.gguf", "missing.gguf", "x.safetensors",
        "./missing", "../missing", "/no/such/model", "~/missing"}) {
    EXPECT_EQ(read_run_words({word}, false).model, word);
    EXPECT_EQ(read_run_words({word}, false).prompt, std::nullopt);
    EXPECT_EQ(read_run_words({word, "hi", "there"}, false).model, word);
    EXPECT_EQ(read_run_words({word, "why is the sky blue?"}, false).prompt, "why is the sky blue?");
  }
  EXPECT_EQ(read_run_words({"my models/missing.gguf"}, false).model, "my models/missing.gguf");
}

TEST(RunWords, AreAllPromptWhereAnOptionNamesTheModel) {
  const RunWords read = read_run_words({kModel, "hi"}, true);
  EXPECT_EQ(read.model, std::nullopt);
  EXPECT_EQ(read.prompt, std::string(kModel) + " hi");
}

TEST(RunWords, WithoutACommandNameAModelOnlyWhereTheyCanBeNothingElse) {
  for (const char* word : {"deepseek-r1", "qwen3:1.7b", "qwen3:9b", "hf:o/r", "m.gguf", "./m"}) {
    EXPECT_TRUE(names_a_model(word)) << word;
  }
  for (const char* word : {"mine", "rnu", "o/r", "Summarize:"}) EXPECT_FALSE(names_a_model(word)) << word;
}

}  // namespace
}  // namespace realizar::cli
