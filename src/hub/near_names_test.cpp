#include <gtest/gtest.h>

#include "hub/locate.h"

namespace realizar::hub {
namespace {

using Names = std::vector<std::string>;

Names near(std::string_view given) {
  static const KnownName kKnown[] = {{"tinychat", "tinychat"},
                                     {"hf:acme/x:m-Q8_0.gguf", "hf:acme/x:m-Q8_0.gguf"},
                                     {"acme/x:m-Q8_0.gguf", "hf:acme/x:m-Q8_0.gguf"},
                                     {"llama3.1", "llama3.1"},
                                     {"llama3.2", "llama3.2"},
                                     {"llama3.3", "llama3.3"},
                                     {"llama4", "llama4"},
                                     {"qwen3", "qwen3"},
                                     {"qwen2.5", "qwen2.5"},
                                     {"phi4", "phi4"}};
  return near_names(given, kKnown);
}

TEST(NearNames, OfASlip) {
  EXPECT_EQ(near("tinycht"), Names{"tinychat"});
  EXPECT_EQ(near("TinyChat"), Names{"tinychat"});
  EXPECT_EQ(near("qwen3.5"), (Names{"qwen2.5", "qwen3"}));
}

TEST(NearNames, OfABeginningEvenWithASlip) {
  EXPECT_EQ(near("acme/x"), Names{"hf:acme/x:m-Q8_0.gguf"});
  EXPECT_EQ(near("phi"), Names{"phi4"});
  EXPECT_EQ(near("lama3"), (Names{"llama3.1", "llama3.2", "llama3.3"}));
}

TEST(NearNames, LeavesWordsOfPromptsAlone) {
  for (const char* word : {"", "hi", "why", "tell", "hello", "write", "Summarize:", "tinyllama", "x"}) {
    EXPECT_EQ(near(word), Names{}) << word;
  }
  EXPECT_EQ(near(std::string(100'000, 'q')), Names{});
}

}  // namespace
}  // namespace realizar::hub
