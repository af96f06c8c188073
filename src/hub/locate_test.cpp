#include "hub/locate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/result_checks.h"
#include "base/temp_folder.h"
#include "hub/hash.h"

namespace realizar::hub {
namespace {

// A store with "tinychat", and Hugging Face's cache with acme/small:m-Q8_0.gguf.
class LocateTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(store_.prepare().ok());
    const std::string text = "GGUF...", sha256 = sha256_text(text);
    root_.put(store_.blob_path(sha256), text);
    const Manifest manifest{*parse_name("tinychat"), "hf:o/r", "", "", {{FileRole::kModel, "m.gguf", sha256, 7}}};
    ASSERT_TRUE(store_.put(manifest).ok());
    root_.put("hub/models--acme--small/refs/main", "abc");
    root_.put("hub/models--acme--small/snapshots/abc/m-Q8_0.gguf", text);
  }

  std::string message(const std::string& given) const {
    const auto model = locate(library_, given);
    if (model.ok()) return "";
    EXPECT_EQ(model.error().code, ErrorCode::kNotFound) << given;
    return model.error().message;
  }

  TempFolder root_;
  Store store_{root_ / "store"};
  Library library_{store_, {root_ / "hub", {}}};
};

TEST_F(LocateTest, TakesAFileAsItIsAndElseAName) {
  const auto file = must(locate(library_, root_ / "hub/models--acme--small/refs/main"));
  EXPECT_EQ(file.place, Place::kFile);
  EXPECT_EQ(locate(library_, "tinychat")->path.filename(), "m.gguf");
  for (const char* name : {"hf:acme/small", "acme/small", "acme/small:Q8_0"}) {
    EXPECT_EQ(locate(library_, name)->place, Place::kHuggingFaceCache) << name;
  }
  EXPECT_FALSE(locate_named(library_, root_).ok());
  EXPECT_EQ(locate(library_, "hf:../x").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(LocateTest, FindsTheOneModelOfARepositoryWhoseFileMatches) {
  const ModelName repository = *parse_name("hf:acme/small");
  const auto name = [&](const std::string& pattern) -> std::string {
    const auto found = locate_match(library_, repository, pattern);
    if (!found.ok()) return "error: " + found.error().message;
    return *found ? to_string(**found) : "none";
  };
  EXPECT_EQ(name("*q8_0*"), "hf:acme/small:m-Q8_0.gguf");
  EXPECT_EQ(name("*q4_0*"), "none");
  root_.put("hub/models--acme--small/snapshots/abc/m-Q4_0.gguf", "GGUF...");
  EXPECT_EQ(name("*q4_0*"), "hf:acme/small:m-Q4_0.gguf");
  EXPECT_EQ(name("m-*"), "error: hf:acme/small: several files match 'm-*': m-Q4_0.gguf, m-Q8_0.gguf");
  EXPECT_FALSE(locate_match(library_, *parse_name("hf:acme/other"), "*")->has_value());
}

TEST_F(LocateTest, SuggestsWhatIsHereAndWhatTheTableHas) {
  EXPECT_EQ(message("tinycht"),
            "there is neither a file nor a model 'tinycht' on this machine; did you mean tinychat? To download it: "
            "realizar pull tinycht");
  EXPECT_NE(message("smal").find("did you mean hf:acme/small:m-Q8_0.gguf or smollm2?"), std::string::npos)
      << message("smal");
  EXPECT_NE(message("hf:acme/smal").find("did you mean hf:acme/small:m-Q8_0.gguf?"), std::string::npos);
  EXPECT_NE(message("mistrl").find("did you mean mistral or mistral-nemo?"), std::string::npos) << message("mistrl");
  EXPECT_NE(message("phi").find("did you mean phi4?"), std::string::npos);
  EXPECT_EQ(message("tinyllama"),
            "there is neither a file nor a model 'tinyllama' on this machine; to download it: realizar pull tinyllama");
}

TEST_F(LocateTest, ListsTheTagsOfAModelThatTheTableHasOnlyWithOthers) {
  EXPECT_EQ(message("deepseek-r1"),
            "there is neither a file nor a model 'deepseek-r1' on this machine; known tags: deepseek-r1:1.5b, "
            "deepseek-r1:7b, deepseek-r1:14b and deepseek-r1:32b; to download one: realizar pull deepseek-r1:1.5b");
  EXPECT_NE(message("qwen2.5-coder").find("realizar pull qwen2.5-coder:1.5b"), std::string::npos);
  EXPECT_NE(message("phi4:9b").find("known tags: phi4 and phi4:14b"), std::string::npos) << message("phi4:9b");
  // A name in the table is used as it is, even if others are similar.
  for (const std::string name : {"phi4", "qwen3:1.7b"}) {
    EXPECT_EQ(message(name), "there is neither a file nor a model '" + name +
                                 "' on this machine; to download it: realizar pull " + name);
  }
}

TEST_F(LocateTest, OffersNoDownloadOfWhatCanOnlyBeAPath) {
  for (const char* path : {"missing.gguf", "./missing", "/no/such/file", "~/missing", "a/b/c", "Summarize:"}) {
    EXPECT_EQ(message(path), std::string("there is no file or folder ") + path);
  }
}

TEST(KnownName, HasASchemeATagOrARowOfTheTable) {
  for (const char* word :
       {"deepseek-r1", "llama3.2", "qwen3:9b", "mine:v2", "hf:o/r", "ollama:x", "https://h/m.gguf", "o/r-GGUF"}) {
    EXPECT_TRUE(is_known_name(word)) << word;
  }
  for (const char* word : {"mine", "o/r", "hello", "Summarize:", "a/b/c", ""})
    EXPECT_FALSE(is_known_name(word)) << word;
}

}  // namespace
}  // namespace realizar::hub
