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
  EXPECT_EQ(read->words, (Words{"serve", "x.gguf", "--port", "9", "--no-page", "--gpu-layers", "99", "--alias", "a",
                                "--jinja", "--max-seqs", "4", "--ctx", "1024", "--kv-tokens", "4096"}));
  EXPECT_TRUE(read->notes.empty());
}

TEST(ServerWords, ShareTheContextAsLlamaServerDoes) {
  const auto words_of = [](const Words& given) { return words_of_llama_server(given)->words; };
  EXPECT_EQ(words_of({"-c", "512"}), (Words{"serve", "--ctx", "512", "--kv-tokens", "512"}));
  EXPECT_EQ(words_of({"-c", "512", "-np", "2"}),
            (Words{"serve", "--max-seqs", "2", "--ctx", "256", "--kv-tokens", "512"}));
  EXPECT_EQ(words_of({"-np", "2", "-kvu", "-c", "512"}),
            (Words{"serve", "--max-seqs", "2", "--ctx", "512", "--kv-tokens", "512"}));
  for (const Words& given : {Words{"-c", "x"}, Words{"-np", "0"}, Words{"-np", "many"}}) {
    EXPECT_FALSE(words_of_llama_server(given).ok()) << given[0];
  }
}

TEST(ServerWords, HaveDefaultsOfRequests) {
  const auto read =
      words_of_llama_server({"--temp", "0.5", "-n", "64", "--seed", "42", "-s", "-1", "--top-nsigma", "2"});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->words,
            (Words{"serve", "--temperature", "0.5", "--max-tokens", "64", "--seed", "42", "--top-n-sigma", "2"}));
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
  const auto drafts = words_of_llama_server({"--spec-draft-poll", "50", "--prio-draft=2", "-cmoed", "x"});
  ASSERT_TRUE(drafts.ok());
  EXPECT_EQ(drafts->words, (Words{"serve", "x"}));
  EXPECT_TRUE(drafts->notes[0].starts_with("--spec-draft-poll has no effect")) << drafts->notes[0];
}

TEST(ServerWords, RefuseWhatTheyCannotHave) {
  for (const Words& words : {Words{"--lora", "x"}, Words{"--rpc", "x"}, Words{"-m"}, Words{"--props"}}) {
    const auto read = words_of_llama_server(words);
    ASSERT_FALSE(read.ok()) << words[0];
    EXPECT_TRUE(read.error().message.starts_with(words[0])) << read.error().message;
  }
}

}  // namespace
}  // namespace realizar::cli
