#include "cli/server_words.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace realizar::cli {
namespace {

using Words = std::vector<std::string>;

// Words of `realizar serve`, with those that are added for a llama-server without metrics.
Words served(Words words, const Words& last = {"--chat-template-kwargs", R"({"enable_thinking": true})"}) {
  words.insert(words.begin(), "serve");
  words.insert(words.end(), {"--llama-answers", "--no-metrics"});
  words.insert(words.end(), last.begin(), last.end());
  return words;
}

Words words_of(const Words& given) {
  const auto read = words_of_llama_server(given);
  EXPECT_TRUE(read.ok());
  return read.ok() ? read->words : Words();
}

TEST(ServerWords, KnowTheProgramByItsName) {
  for (const char* name : {"realizar-server", "/usr/bin/realizar-server", "./llama-server"}) {
    EXPECT_TRUE(is_llama_server(name)) << name;
  }
  for (const char* name : {"realizar", "/opt/llama-server/realizar", "realizar-server.old", ""}) {
    EXPECT_FALSE(is_llama_server(name)) << name;
  }
}

TEST(ServerWords, AreThoseOfServe) {
  const auto read = words_of_llama_server(
      {"-m", "x.gguf", "--ctx-size=4096", "-np", "4", "--port", "9", "--no-webui", "-ngl", "99", "--jinja"});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->words, served({"--port", "9", "--no-page", "--gpu-layers", "99", "--jinja", "--max-seqs", "4",
                                 "--ctx", "1024", "--kv-tokens", "4096", "x.gguf"}));
  EXPECT_TRUE(read->notes.empty());
}

TEST(ServerWords, ShareTheContextAsLlamaServerDoes) {
  EXPECT_EQ(words_of({"-m", "x", "-c", "512"}), served({"--ctx", "512", "--kv-tokens", "512", "x"}));
  EXPECT_EQ(words_of({"-m", "x", "-c", "512", "-np", "2"}),
            served({"--max-seqs", "2", "--ctx", "256", "--kv-tokens", "512", "x"}));
  EXPECT_EQ(words_of({"-m", "x", "-np", "2", "-kvu", "-c", "512"}),
            served({"--max-seqs", "2", "--ctx", "512", "--kv-tokens", "512", "x"}));
  for (const Words& given : {Words{"-c", "x"}, Words{"-np", "0"}, Words{"-np", "many"}}) {
    EXPECT_FALSE(words_of_llama_server(given).ok()) << given[0];
  }
}

TEST(ServerWords, HaveDefaultsOfRequests) {
  EXPECT_EQ(words_of({"-m", "x", "--temp", "0.5", "-n", "64", "--seed", "42", "-s", "-1", "--top-nsigma", "2"}),
            served({"--temperature", "0.5", "--max-tokens", "64", "--seed", "42", "--top-n-sigma", "2", "x"}));
}

TEST(ServerWords, LeaveOutWhatIsTheDefaultAnyway) {
  EXPECT_EQ(words_of({"--model=x", "-c", "0", "-t", "-1", "-np", "-1"}), served({"x"}));
}

TEST(ServerWords, NameTheModelByTheFirstOfItsAliases) {
  EXPECT_EQ(words_of({"-m", "x.gguf", "--alias", "one"}), served({"one=x.gguf", "--alias", "one"}));
  EXPECT_EQ(words_of({"-a", "fim,code,", "-m", "x"}), served({"code=x", "--alias", "fim,code,"}));
  EXPECT_EQ(words_of({"-m", "x", "--alias="}), served({"x"}));
}

TEST(ServerWords, LoadNoModelAtTheStartWhereNoneIsNamed) {
  EXPECT_EQ(words_of({"--models-dir", "y"}), served({"--models-dir", "y", "--no-preload"}));
  EXPECT_EQ(words_of({}), served({"--no-preload"}));
}

TEST(ServerWords, LetPagesWithAKeyComeFromAnywhere) {
  const Words thinking{"--chat-template-kwargs", R"({"enable_thinking": true})"};
  const auto with = [&](const Words& more) {
    Words last = thinking;
    last.insert(last.end(), more.begin(), more.end());
    return last;
  };
  EXPECT_EQ(words_of({"-m", "x", "--api-key", "k"}), served({"--api-key", "k", "x"}, with({"--cors-origin", "*"})));
  EXPECT_EQ(words_of({"-m", "x", "--api-key=k", "--cors-origins", "http://a,http://b"}),
            served({"--api-key=k", "x"}, with({"--cors-origin", "http://a", "--cors-origin", "http://b"})));
  const Words local = words_of({"-m", "x", "--cors-origins", "localhost"});
  for (const char* origin : {"http://localhost", "http://localhost:*", "https://127.0.0.1", "http://[::1]:*"}) {
    EXPECT_NE(std::ranges::find(local, origin), local.end()) << origin;
  }
}

TEST(ServerWords, HaveMetricsAndThinkWhereTheySaySo) {
  EXPECT_EQ(words_of({"-m", "x", "--metrics", "--reasoning", "off"}),
            (Words{"serve", "--reasoning", "off", "x", "--llama-answers"}));
  EXPECT_EQ(words_of({"-m", "x", "-rea", "auto", "--verbose"}), served({"--verbose-answers", "x"}));
  EXPECT_EQ(words_of({"-m", "x", "--chat-template-kwargs", "{}"}), served({"--chat-template-kwargs", "{}", "x"}, {}));
}

TEST(ServerWords, NoteWhatHasNoEffectWithItsValue) {
  const auto read = words_of_llama_server({"--slots", "--prio", "2", "--cache-reuse=256", "y.gguf"});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->words, served({"y.gguf", "--no-preload"}));
  ASSERT_EQ(read->notes.size(), 3u);
  EXPECT_EQ(read->notes[0], "--slots is always on");
  const auto drafts = words_of_llama_server({"--spec-draft-poll", "50", "--prio-draft=2", "-cmoed", "-m", "x"});
  ASSERT_TRUE(drafts.ok());
  EXPECT_EQ(drafts->words, served({"x"}));
  EXPECT_TRUE(drafts->notes[0].starts_with("--spec-draft-poll has no effect")) << drafts->notes[0];
}

TEST(ServerWords, HaveAdapters) {
  EXPECT_EQ(words_of({"-m", "x", "--lora", "a/poet.gguf"}),
            served({"--lora", "poet=a/poet.gguf:1", "--lora-default", "poet", "x"}));
  EXPECT_EQ(words_of({"-m", "x", "--lora", "a.gguf,b.gguf", "--lora-scaled=c.gguf:0.5", "--lora-init-without-apply"}),
            served({"--lora", "a=a.gguf:1", "--lora", "b=b.gguf:1", "--lora", "c=c.gguf:0.5", "x"}));
  for (const Words& words : {Words{"--lora", "a.gguf,b.gguf"}, Words{"--lora", ":0.5"}, Words{"--lora"}}) {
    EXPECT_FALSE(words_of_llama_server(words).ok()) << words.back();
  }
}

TEST(ServerWords, RefuseWhatTheyCannotHave) {
  for (const Words& words : {Words{"--control-vector", "x"}, Words{"--rpc", "x"}, Words{"-m"}, Words{"--props"}}) {
    const auto read = words_of_llama_server(words);
    ASSERT_FALSE(read.ok()) << words[0];
    EXPECT_TRUE(read.error().message.starts_with(words[0])) << read.error().message;
  }
}

}  // namespace
}  // namespace realizar::cli
