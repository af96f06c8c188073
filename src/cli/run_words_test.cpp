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
      {{"hello"}, none, "hello"},
      {{"hi", "there"}, none, "hi there"},
      {{"tell", "me", "a", "story"}, none, "tell me a story"},
      {{"What is it?"}, none, "What is it?"},
      {{"What is it?", "Tell me."}, none, "What is it? Tell me."},
      {{""}, none, ""},
  };
  for (const Case& c : cases) {
    const RunWords read = read_run_words(c.words, false);
    EXPECT_EQ(read.model, c.model);
    EXPECT_EQ(read.prompt, c.prompt);
  }
}

TEST(RunWords, NameAModelThatIsNotThereRatherThanAskAnother) {
  for (const char* word : {"missing.gguf", "x.safetensors", "./missing", "../missing", "/no/such/model", "~/missing"}) {
    EXPECT_EQ(read_run_words({word}, false).model, word);
    EXPECT_EQ(read_run_words({word, "hi", "there"}, false).model, word);
  }
  EXPECT_EQ(read_run_words({"llama3", "why is the sky blue?"}, false).model, "llama3");
  EXPECT_EQ(read_run_words({"org/name", "hi", "there"}, false).model, "org/name");
}

TEST(RunWords, NameAModelOfTheStore) {
  for (const char* word : {"qwen3:1.7b", "hf:o/r", "ollama:llama9", "https://example.com/m.gguf", "llama3.2"}) {
    EXPECT_EQ(read_run_words({word}, false).model, word);
    EXPECT_EQ(read_run_words({word, "hi", "there"}, false).prompt, "hi there");
  }
  const auto is_known = [](const std::string& word) { return word == "mine"; };
  EXPECT_EQ(read_run_words({"mine"}, false, is_known).model, "mine");
  EXPECT_EQ(read_run_words({"yours"}, false, is_known).prompt, "yours");
  EXPECT_EQ(read_run_words({"Summarize:"}, false).prompt, "Summarize:");
}

TEST(RunWords, AreAllPromptWhereAnOptionNamesTheModel) {
  const RunWords read = read_run_words({kModel, "hi"}, true);
  EXPECT_EQ(read.model, std::nullopt);
  EXPECT_EQ(read.prompt, std::string(kModel) + " hi");
}

}  // namespace
}  // namespace realizar::cli
