// tokenizer.model files and GGUF unigram vocabularies give exactly the same results as SentencePiece itself (which
// wrote expected.json, see sentencepiece_oracle.py); broken files are refused.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/sentencepiece_files.h"
#include "text/tokenizer/model_proto.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {
namespace {

const std::string kFolder = RZ_SOURCE_DIR "/tests/data/sentencepiece/";
constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::vector<int32_t> encode(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<int32_t> ids;
  for (const TokenId id : tokenizer.encode(text, kPlain)) ids.push_back(to_index(id));
  return ids;
}

std::string without_leading_spaces(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

void expect_same(const Tokenizer& tokenizer, const std::string& name) {
  const auto expected = nlohmann::json::parse(read_file(kFolder + "expected.json"));
  const auto& model = expected["models"][name];
  ASSERT_EQ(expected["texts"].size(), model["ids"].size());
  for (size_t i = 0; i < expected["texts"].size(); ++i) {
    const auto text = expected["texts"][i].get<std::string>();
    const auto ids = model["ids"][i].get<std::vector<int32_t>>();
    EXPECT_EQ(encode(tokenizer, text), ids) << name << ": " << nlohmann::json(text);
    // SentencePiece writes " ⁇ " for the unknown piece; a chat shows nothing.
    if (std::find(ids.begin(), ids.end(), 0) != ids.end()) continue;
    std::vector<TokenId> tokens;
    for (const int32_t id : ids) tokens.push_back(TokenId{id});
    // SentencePiece drops all spaces at the beginning, this program only the one that the tokenizer added.
    EXPECT_EQ(without_leading_spaces(tokenizer.decode(tokens)),
              without_leading_spaces(model["decoded"][i].get<std::string>()))
        << name << ": " << nlohmann::json(text);
  }
}

class SentencePiece : public testing::TestWithParam<const char*> {};

TEST_P(SentencePiece, ModelFileGivesItsIdsAndTexts) {
  const auto tokenizer = Tokenizer::from_sentencepiece(test::sentencepiece_file(GetParam()), "");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  expect_same(*tokenizer, GetParam());
}

TEST_P(SentencePiece, TheSameUnigramFromGgufMetadataGivesThemToo) {
  const auto description = read_model_proto(test::sentencepiece_file(GetParam()));
  ASSERT_TRUE(description.ok());
  if (!description->unigram) GTEST_SKIP() << "a BPE model";
  GgufVocab vocab;
  vocab.model = "t5";
  vocab.tokens.assign(description->pieces.begin(), description->pieces.end());
  vocab.scores = description->scores;
  for (const TokenType type : description->types) vocab.token_types.push_back(static_cast<int32_t>(type));
  vocab.precompiled_charsmap = description->charsmap;
  vocab.add_space_prefix = description->whitespace.add_prefix;
  vocab.remove_extra_whitespaces = description->whitespace.remove_extra;
  vocab.unk_id = 0;
  const auto tokenizer = Tokenizer::from_gguf(vocab);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  expect_same(*tokenizer, GetParam());
}

TEST_P(SentencePiece, EveryBeginningOfAFileIsReadOrRefused) {
  const std::string model = test::sentencepiece_file(GetParam());
  int n_refused = 0;
  for (size_t n = 0; n < model.size(); n += 997)
    n_refused += !Tokenizer::from_sentencepiece(model.substr(0, n), "").ok();
  EXPECT_GT(n_refused, 0);
}

// Only this process counts, whatever runs at the same time.
double processor_s_of(const Tokenizer& tokenizer, const std::string& text) {
  const std::clock_t start = std::clock();
  (void)tokenizer.encode(text, kPlain);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double least_processor_s_of(const Tokenizer& tokenizer, const std::string& text) {
  double least = INFINITY;
  for (int i = 0; i < 3; ++i) least = std::min(least, processor_s_of(tokenizer, text));
  return least;
}

// Memory that the process already has costs nothing again, which would favour a short text over a long one.
void keep_memory() {
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

TEST_P(SentencePiece, LongTextsTakeLinearTime) {
  keep_memory();
  const auto tokenizer = Tokenizer::from_sentencepiece(test::sentencepiece_file(GetParam()), "");
  ASSERT_TRUE(tokenizer.ok());
  constexpr size_t kBytes = size_t{1} << 15, kTimes = 32;
  for (const char c : {'a', ' ', '\x80'}) {
    const double once = least_processor_s_of(*tokenizer, std::string(kBytes, c));
    const double longer = least_processor_s_of(*tokenizer, std::string(kTimes * kBytes, c));
    EXPECT_LT(longer, kTimes * kTimes / 3 * once) << "a quadratic path would take " << kTimes << " times " << kTimes;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SentencePiece,
                         testing::Values("unigram", "unigram_bytes", "unigram_user", "unigram_bare", "bpe", "bpe_bytes",
                                         "bpe_user"),
                         [](const auto& test) { return std::string(test.param); });

TEST(SentencePieceConfig, AddsTokensAndWhatSurroundsAText) {
  const std::string config = R"({"add_bos_token": true, "add_eos_token": true, "bos_token": "<s>", "eos_token": "</s>",
      "added_tokens_decoder": {"400": {"content": "<|end|>", "special": true}}})";
  const auto tokenizer = Tokenizer::from_sentencepiece(test::sentencepiece_file("unigram"), config);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const auto ids = tokenizer->encode("a<|end|>");
  ASSERT_GE(ids.size(), 4u);
  EXPECT_EQ(ids.front(), TokenId{1});
  EXPECT_EQ(ids[ids.size() - 2], TokenId{400});
  EXPECT_EQ(ids.back(), TokenId{2});
}

TEST(SentencePieceConfig, ChatGlmsTokensComeAfterThePieces) {
  const std::string model = read_file(kFolder + "bpe.model");
  const auto plain = Tokenizer::from_sentencepiece(model, R"({"add_bos_token": false})");
  const auto tokenizer = Tokenizer::from_sentencepiece(model, R"({"tokenizer_class": "ChatGLMTokenizer"})");
  ASSERT_TRUE(plain.ok() && tokenizer.ok());
  const auto n = static_cast<int32_t>(plain->n_vocab());
  std::vector<TokenId> expected = plain->encode("a text");
  expected.insert(expected.begin(), {TokenId{n + 1}, TokenId{n + 3}});
  EXPECT_EQ(tokenizer->encode("a text"), expected);
  EXPECT_EQ(tokenizer->encode("<|user|>").back(), TokenId{n + 6});
  const auto ends = [&](int32_t id) { return std::ranges::count(tokenizer->end_tokens(), TokenId{id}); };
  EXPECT_EQ(ends(n + 6), 1);
  EXPECT_EQ(ends(n + 7), 0);
  EXPECT_EQ(ends(n + 8), 1);
}

TEST(WordPieceGguf, WordsBeginWithTheMetaspaceAndAreCleaned) {
  GgufVocab vocab;
  vocab.model = "bert";
  vocab.tokens = {"[UNK]", "[CLS]", "[SEP]", "\u2581cafe", "s", "\u2581,", "\u2581un", "aff", "able", "\u2581\u4E16"};
  vocab.token_types = {2, 3, 3, 1, 1, 1, 1, 1, 1, 1};
  vocab.unk_id = 0;
  vocab.bos_id = 1;
  vocab.sep_id = 2;
  const auto tokenizer = Tokenizer::from_gguf(vocab);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ(encode(*tokenizer, "Caf\u00E9s, unaffable \u4E16xyz"), (std::vector<int32_t>{3, 4, 5, 6, 7, 8, 9, 0}));
  const auto with_special = tokenizer->encode("caf\u00E9");
  EXPECT_EQ(with_special, (std::vector<TokenId>{TokenId{1}, TokenId{3}, TokenId{2}}));
  EXPECT_EQ(tokenizer->decode(with_special), "cafe");
}

}  // namespace
}  // namespace realizar::text
