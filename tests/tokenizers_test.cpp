// Real vocabularies give exactly the ids that their own tokenizers give, and decoding gives the text back.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "api/vocab.h"
#include "formats/model_file.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {
namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(RZ_SOURCE_DIR) / "tests/data/tokenizers";
const fs::path kShared = fs::path(RZ_SHARED_DIR) / "tokenizers";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Texts divided by a line "__ggml_vocab_test__"; the newline before that line belongs to it.
std::vector<std::string> read_texts(const fs::path& path) {
  const std::string divider = "\n__ggml_vocab_test__\n";
  const std::string all = read_file(path);
  std::vector<std::string> texts;
  size_t begin = 0;
  for (size_t at = all.find(divider); at != std::string::npos; at = all.find(divider, begin)) {
    texts.push_back(all.substr(begin, at - begin));
    begin = at + divider.size();
  }
  return texts;
}

std::vector<std::string> read_lines(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string show(const std::vector<TokenId>& ids) {
  std::ostringstream out;
  for (TokenId id : ids) out << ' ' << to_index(id);
  return out.str();
}

// The ids of a line of numbers, written as show() writes them.
std::string show(const std::string& line) {
  std::istringstream in(line);
  std::vector<TokenId> ids;
  for (int32_t id = 0; in >> id;) ids.push_back(TokenId{id});
  return show(ids);
}

void expect_matches(const Tokenizer& tokenizer, const std::string& name) {
  const std::vector<std::string> texts = read_texts(kShared / (name + ".inp"));
  const std::vector<std::string> expected = read_lines(kShared / (name + ".out"));
  ASSERT_GT(texts.size(), 10u);
  ASSERT_LE(texts.size(), expected.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<TokenId> ids = tokenizer.encode(texts[i], {.add_special = false, .parse_special = false});
    EXPECT_EQ(show(ids), show(expected[i])) << "case " << i << ": " << texts[i];
    EXPECT_EQ(tokenizer.decode(ids), texts[i]) << "case " << i;
  }
}

TEST(Tokenizers, Llama3FromTokenizerJson) {
  const fs::path path = kShared / "llama-3.tokenizer.json";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  auto tokenizer = Tokenizer::from_hf(read_file(path), "");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  expect_matches(*tokenizer, "llama-3");
}

class GgufVocabularies : public testing::TestWithParam<const char*> {};

TEST_P(GgufVocabularies, GiveTheExpectedIds) {
  const std::string name = std::string(GetParam()) + ".gguf";
  if (!fs::exists(kShared / name)) GTEST_SKIP() << kShared / name << " is not there";
  auto file = ModelFile::open(kShared / name);
  ASSERT_TRUE(file.ok()) << file.error().message;
  auto vocab = read_gguf_vocab(file->metadata());
  ASSERT_TRUE(vocab.ok()) << vocab.error().message;
  auto tokenizer = Tokenizer::from_gguf(*vocab);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  expect_matches(*tokenizer, name);
}

INSTANTIATE_TEST_SUITE_P(Bpe, GgufVocabularies, testing::Values("deepseek-llm", "gpt-2", "starcoder"));

// expected.json holds mixed texts and the ids that Hugging Face's tokenizers (the JavaScript package, 2026) give for
// them with each vocabulary.
void expect_same_as_huggingface(const std::string& name, const fs::path& tokenizer_json) {
  const auto data = nlohmann::json::parse(read_file(kData / "expected.json"));
  auto tokenizer = Tokenizer::from_hf(read_file(tokenizer_json), "");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const auto& cases = data["cases"][name];
  ASSERT_EQ(cases.size(), data["texts"].size());
  for (size_t i = 0; i < cases.size(); ++i) {
    std::vector<TokenId> expected;
    for (const auto& id : cases[i]) expected.push_back(TokenId{id.get<int32_t>()});
    const std::string text = data["texts"][i];
    EXPECT_EQ(show(tokenizer->encode(text, {.add_special = false})), show(expected)) << "case " << i << ": " << text;
  }
}

TEST(Tokenizers, SmallVocabulariesAgreeWithHuggingFace) {
  for (const std::string name : {"tiny", "gemma2", "llama", "mixtral", "phi3", "qwen2"}) {
    SCOPED_TRACE(name);
    expect_same_as_huggingface(name, kData / (name + ".tokenizer.json"));
  }
}

TEST(Tokenizers, Llama3AgreesWithHuggingFace) {
  const fs::path path = kShared / "llama-3.tokenizer.json";
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  expect_same_as_huggingface("llama-3", path);
}

}  // namespace
}  // namespace realizar::text
