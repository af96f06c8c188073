#include "server/models/infill.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

// A vocabulary of single bytes, and of markers from id 200 on.
text::Tokenizer tokenizer_with(const std::vector<std::string>& marks) {
  std::string vocab, added;
  // The byte-level alphabet has printable ASCII unchanged, the space as U+0120 and the line break as U+010A.
  for (char c = '!'; c <= '~'; ++c) {
    const std::string letter = c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    vocab += "\"" + letter + "\":" + std::to_string(static_cast<int>(c)) + ",";
  }
  for (size_t i = 0; i < marks.size(); ++i) {
    added += std::string(i > 0 ? "," : "") + R"({"id":)" + std::to_string(200 + i) + R"(,"content":")" + marks[i] +
             R"(","special":true})";
  }
  auto tokenizer = text::Tokenizer::from_hf(R"({"added_tokens":[)" + added +
                                                R"(],"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},)" +
                                                R"("decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{)" +
                                                vocab + R"("Ġ":32,"Ċ":10},"merges":[]}})",
                                            "{}");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return std::move(*tokenizer);
}

std::string spelled(const text::Tokenizer& tokenizer, const std::optional<std::vector<TokenId>>& tokens) {
  return tokens ? tokenizer.decode(*tokens, {.skip_special = false}) : "cannot";
}

TEST(Infill, PutsTheBeginningTheEndAndTheGapAtTheirMarks) {
  const auto tokenizer = tokenizer_with({"<fim_prefix>", "<fim_suffix>", "<fim_middle>"});
  EXPECT_EQ(spelled(tokenizer, infill_prompt(tokenizer, "a(", "):")), "<fim_prefix>a(<fim_suffix>):<fim_middle>");
  const InfillFile files[] = {{"x.py", "import y\n"}};
  EXPECT_EQ(spelled(tokenizer, infill_prompt(tokenizer, "a", "b", files, "c")),
            "import y\n<fim_prefix>a<fim_suffix>b<fim_middle>c")
      << "a vocabulary without marks for files has their texts";
  EXPECT_EQ(spelled(tokenizer, infill_prompt(tokenizer, "<fim_middle>", "")),
            "<fim_prefix><fim_middle><fim_suffix><fim_middle>");
  EXPECT_GT(infill_prompt(tokenizer, "<fim_middle>", "")->size(), 4u) << "text never becomes a mark";
}

TEST(Infill, NamesFilesOfARepository) {
  const auto tokenizer =
      tokenizer_with({"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>"});
  const InfillFile files[] = {{"x.py", "1\n"}, {"", "2"}};
  EXPECT_EQ(spelled(tokenizer, infill_prompt(tokenizer, "a", "b", files)),
            "<|repo_name|>repository\n<|file_sep|>x.py\n1\n<|file_sep|>\n2<|file_sep|>filename\n"
            "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>");
  EXPECT_EQ(spelled(tokenizer, infill_prompt(tokenizer, "a", "b")), "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>");
}

TEST(Infill, NeedsAllMarks) {
  EXPECT_EQ(infill_prompt(tokenizer_with({"<fim_prefix>", "<fim_suffix>"}), "a", "b"), std::nullopt);
}

}  // namespace
}  // namespace realizar::server
