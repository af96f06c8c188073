// SentencePiece vocabularies: real ones give exactly the ids of their own tokenizers, decoding gives the original text,
// and no text, however long or broken, takes long.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "api/text_assets.h"
#include "base/try.h"
#include "formats/model_file.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {
namespace {

namespace fs = std::filesystem;

const fs::path kShared = RZ_SHARED_DIR;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Result<Tokenizer> load_gguf(const fs::path& path) {
  RZ_TRY(const ModelFile file, ModelFile::open(path));
  RZ_TRY(const GgufVocab vocab, read_gguf_vocab(file.metadata()));
  return Tokenizer::from_gguf(vocab);
}

std::vector<int32_t> read_ids(const std::string& line) {
  std::istringstream in(line);
  std::vector<int32_t> ids;
  for (int32_t id = 0; in >> id;) ids.push_back(id);
  return ids;
}

std::vector<int32_t> to_numbers(const std::vector<TokenId>& ids) {
  std::vector<int32_t> numbers;
  for (TokenId id : ids) numbers.push_back(to_index(id));
  return numbers;
}

constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};

TEST(SpmTokenizers, LlamaGivesTheReferenceIds) {
  const fs::path model = kShared / "tokenizers" / "llama-spm.gguf";
  if (!fs::exists(model)) GTEST_SKIP() << model << " is not there";
  auto tokenizer = load_gguf(model);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const std::string texts = read_file(model.string() + ".inp");
  std::ifstream expected(model.string() + ".out");
  const std::string divider = "\n__ggml_vocab_test__\n";
  int n_cases = 0;
  for (size_t begin = 0, end = 0; (end = texts.find(divider, begin)) != std::string::npos; ++n_cases) {
    const std::string text = texts.substr(begin, end - begin);
    begin = end + divider.size();
    std::string line;
    std::getline(expected, line);
    const std::vector<TokenId> ids = tokenizer->encode(text, kPlain);
    EXPECT_EQ(to_numbers(ids), read_ids(line)) << text;
    EXPECT_EQ(tokenizer->decode(ids), text);
  }
  EXPECT_GT(n_cases, 40);
}

// A vocabulary as GGUF and as tokenizer.json goes through different builders, with equal ids.
TEST(SpmTokenizers, GgufAndTokenizerJsonAgree) {
  if (!fs::exists(kShared / "conformance"))
    GTEST_SKIP() << kShared / "conformance"
                 << " is not there";
  std::mt19937 random(3);
  const std::vector<std::string> parts = {"the",   " ", "  ",       "and ", "\n", "\u20AC",
                                          "Hello", "x", "\xC3\xA9", "<s>",  "1"};
  for (const char* name : {"mixtral", "phi3", "gemma2"}) {
    auto gguf = load_gguf(kShared / "conformance" / (std::string(name) + ".gguf"));
    const fs::path folder = kShared / "conformance" / (std::string(name) + "-hf");
    auto hf = Tokenizer::from_hf(read_file(folder / "tokenizer.json"), read_file(folder / "tokenizer_config.json"));
    ASSERT_TRUE(gguf.ok()) << gguf.error().message;
    ASSERT_TRUE(hf.ok()) << hf.error().message;
    for (int trial = 0; trial < 500; ++trial) {
      std::string text;
      for (size_t n = random() % 12; n > 0; --n) text += parts[random() % parts.size()];
      const std::vector<TokenId> ids = gguf->encode(text, kPlain);
      ASSERT_EQ(to_numbers(ids), to_numbers(hf->encode(text, kPlain))) << name << ": " << text;
      ASSERT_EQ(gguf->decode(ids), text) << name;
      ASSERT_EQ(to_numbers(gguf->encode(text)), to_numbers(hf->encode(text))) << name << ": " << text;
    }
  }
}

TEST(SpmTokenizers, NoQuadraticPath) {
  const fs::path model = kShared / "tokenizers" / "llama-spm.gguf";
  if (!fs::exists(model)) GTEST_SKIP() << model << " is not there";
  auto tokenizer = load_gguf(model);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  constexpr size_t kBytes = 10'000'000;
  for (char c : {'a', ' ', '\xFF', '\xE2'}) {
    const std::string text(kBytes, c);
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<TokenId> ids = tokenizer->encode(text, kPlain);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    RecordProperty("seconds_byte_" + std::to_string(static_cast<uint8_t>(c)), std::to_string(seconds.count()));
    EXPECT_EQ(tokenizer->decode(ids), text);
  }
}

TEST(SpmTokenizers, RefusesBrokenVocabularies) {
  GgufVocab vocab;
  vocab.model = "llama";
  EXPECT_EQ(Tokenizer::from_gguf(vocab).error().code, ErrorCode::kFormatError);
  vocab.tokens = {"a", "b"};
  vocab.scores = {0};
  EXPECT_EQ(Tokenizer::from_gguf(vocab).error().subject, "tokenizer.ggml.scores");
  vocab.scores = {0, std::nanf("")};
  EXPECT_EQ(Tokenizer::from_gguf(vocab).error().subject, "scores");
  vocab.scores = {0, 0};
  vocab.bos_id = 2;
  EXPECT_EQ(Tokenizer::from_gguf(vocab).error().subject, "tokenizer.ggml.bos_token_id");
  const std::string long_piece(1025, 'a');
  vocab.tokens = {"a", long_piece};
  vocab.bos_id.reset();
  EXPECT_EQ(Tokenizer::from_gguf(vocab).error().subject, "tokens");
}

// The merge with the highest score comes first, the leftmost of equals; unknown characters in a row are one token.
TEST(SpmTokenizers, MergesByScore) {
  GgufVocab vocab;
  vocab.model = "llama";
  vocab.tokens = {"<unk>", "a", "b", "ab", "ba", "bab"};
  vocab.scores = {0, -9, -9, -2, -1, -3};
  vocab.token_types = {2, 1, 1, 1, 1, 1};
  vocab.unk_id = 0;
  vocab.add_bos = false;
  vocab.add_space_prefix = false;
  auto tokenizer = Tokenizer::from_gguf(vocab);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ(to_numbers(tokenizer->encode("abab")), (std::vector<int32_t>{1, 5}));
  EXPECT_EQ(to_numbers(tokenizer->encode("abb")), (std::vector<int32_t>{3, 2}));
  EXPECT_EQ(to_numbers(tokenizer->encode("axyb")), (std::vector<int32_t>{1, 0, 2}));
}

}  // namespace
}  // namespace realizar::text
