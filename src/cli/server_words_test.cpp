#include "cli/server_words.h"

#include <gtest/gtest.h>

namespace realizar::cli {
namespace {

using Words = std::vector<std::string>;

TEST(ServerWords, KnowTheProgramByItsName) {
  for (const char* name : {"realizar-server", "/usr/bin/realizar-server", "./llama-server"}) {
    EXPECT_TRUE(is_llama_server(name)) << name;
  }
  for (const char* name : {"realizar", "/opt/llama-server/realizar", "realizar-server.old", ""}) {
    EXPECT_FALSE(is_llama_server(name)) << name;
  }
}

TEST(ServerWords, AreThoseOfServe) {
  const auto read = words_of_llama_server({"-m", "x.gguf", "--ctx-size=4096", "-np", "4", "--port", "9", "--no-webui",
                                           "-ngl", "99", "--alias", "a", "--jinja"});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->words, (Words{"serve", "x.gguf", "--ctx", "4096", "--max-seqs", "4", "--port", "9", "--no-page",
                                "--gpu-layers", "99", "--alias", "a", "--jinja"}));
  EXPECT_TRUE(read->notes.empty());
}

TEST(ServerWords, LeaveOutWhatIsTheDefaultAnyway) {
  const auto read = words_of_llama_server({"--model=x", "-c", "0", "-t", "-1", "-np", "-1"});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->words, (Words{"serve", "x"}));
}

TEST(ServerWords, NoteWhatHasNoEffectWithItsValue) {
  const auto read = words_of_llama_server({"--slots", "--prio", "2", "--cache-reuse=256", "y.gguf"});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->words, (Words{"serve", "y.gguf"}));
  ASSERT_EQ(read->notes.size(), 3u);
  EXPECT_EQ(read->notes[0], "--slots is always on");
}

TEST(ServerWords, RefuseWhatTheyCannotHave) {
  for (const Words& words : {Words{"--temp", "0.5"}, Words{"--slot-save-path", "x"}, Words{"-m"}, Words{"--props"}}) {
    const auto read = words_of_llama_server(words);
    ASSERT_FALSE(read.ok()) << words[0];
    EXPECT_TRUE(read.error().message.starts_with(words[0])) << read.error().message;
  }
}

}  // namespace
}  // namespace realizar::cli
