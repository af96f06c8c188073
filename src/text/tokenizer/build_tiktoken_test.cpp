// GLM-4's file of tiktoken's ranks: words are joined by tiktoken's rule, and malformed files are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/result_checks.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {
namespace {

const std::string kGlm4 = R"({"tokenizer_class": "ChatGLM4Tokenizer"})";

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * k) & 63];
  }
  return text;
}

// All bytes, followed by the given tokens.
std::vector<std::string> tokens_with(std::vector<std::string> more) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  std::ranges::move(more, std::back_inserter(tokens));
  return tokens;
}

std::string file_of(const std::vector<std::string>& tokens) {
  std::string file;
  for (size_t rank = 0; rank < tokens.size(); ++rank) file += base64(tokens[rank]) + " " + std::to_string(rank) + "\n";
  return file;
}

std::vector<int> ids_of(const Tokenizer& tokenizer, const std::string& text, EncodeOptions options = {}) {
  std::vector<int> ids;
  for (const TokenId id : tokenizer.encode(text, options)) ids.push_back(to_index(id));
  return ids;
}

// Tokenizes a word like tiktoken: a word that is a token stays whole; otherwise the first pair with the lowest rank is
// joined repeatedly.
std::vector<int> naive(const std::map<std::string, int>& ranks, const std::string& word) {
  if (const auto whole = ranks.find(word); whole != ranks.end()) return {whole->second};
  std::vector<std::string> parts;
  for (const char c : word) parts.emplace_back(1, c);
  while (true) {
    size_t best = parts.size();
    int lowest = static_cast<int>(ranks.size());
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto joint = ranks.find(parts[i] + parts[i + 1]);
      if (joint == ranks.end() || joint->second >= lowest) continue;
      lowest = joint->second;
      best = i;
    }
    if (best == parts.size()) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
  std::vector<int> ids;
  for (const std::string& part : parts) ids.push_back(ranks.at(part));
  return ids;
}

TEST(Tiktoken, JoinsThePairsOfTheLowestRankFirst) {
  std::mt19937 random(1);
  const auto word_of = [&](size_t n) {
    std::string word;
    for (size_t i = 0; i < n; ++i) word += static_cast<char>('a' + random() % 3);
    return word;
  };
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> more;
    for (int i = 0; i < 60; ++i) {
      std::string token = word_of(2 + random() % 4);
      if (std::ranges::find(more, token) == more.end()) more.push_back(std::move(token));
    }
    const auto tokens = tokens_with(more);
    std::map<std::string, int> ranks;
    for (size_t rank = 0; rank < tokens.size(); ++rank) ranks[tokens[rank]] = static_cast<int>(rank);
    const auto tokenizer = must(Tokenizer::from_sentencepiece(file_of(tokens), kGlm4));
    for (int i = 0; i < 50; ++i) {
      const std::string word = word_of(1 + random() % 20);
      ASSERT_EQ(ids_of(tokenizer, word, {.add_special = false}), naive(ranks, word)) << word;
      ASSERT_EQ(tokenizer.decode(tokenizer.encode(word)), word);
    }
  }
}

TEST(Tiktoken, SpecialTokensComeAfterTheRanks) {
  const std::string file = file_of(tokens_with({" w"}));
  const auto tokenizer = must(Tokenizer::from_sentencepiece(file, kGlm4));
  EXPECT_EQ(tokenizer.n_vocab(), 257 + 14);
  EXPECT_EQ(ids_of(tokenizer, "a w\xC3\xA9<|user|>"), (std::vector<int>{259, 261, 'a', 256, 0xC3, 0xA9, 264}));
  EXPECT_EQ(tokenizer.eos(), TokenId{257});
  const std::vector<TokenId> ends(tokenizer.end_tokens().begin(), tokenizer.end_tokens().end());
  EXPECT_EQ(ends, (std::vector<TokenId>{TokenId{257}, TokenId{266}, TokenId{264}}));
  const auto more = must(Tokenizer::from_sentencepiece(file, R"({"tokenizer_class": "ChatGLM4Tokenizer",
      "added_tokens_decoder": {"272": {"content": "<|cursor|>", "special": true}}})"));
  EXPECT_EQ(ids_of(more, "<|cursor|>").back(), 272);
}

TEST(Tiktoken, BrokenFilesAreRefused) {
  const std::string sound = file_of(tokens_with({"ab"}));
  const auto expect_refused = [](const std::string& file, const char* text, const std::string& config = kGlm4) {
    EXPECT_TRUE(fails_with(Tokenizer::from_sentencepiece(file, config), ErrorCode::kFormatError, text)) << text;
  };
  expect_refused("", "the byte 0 is not a token");
  expect_refused(file_of({"a", "b"}), "the byte 0 is not a token");
  expect_refused(sound + "YWM=\n", "line 258: expected a token in base64 and a rank");
  expect_refused(sound + "YWM= x\n", "line 258: expected a token in base64 and a rank");
  expect_refused(sound + "YWM= 1048576\n", "line 258: expected a token in base64 and a rank");
  expect_refused(sound + "Y!M= 257\n", "line 258: expected a token in base64 and a rank");
  expect_refused(sound + "YWM= 3\n", "line 258: the rank 3 is taken");
  expect_refused(sound + "YWM= 300\n", "the rank 257 is missing");
  expect_refused(sound + "YWI= 257\n", "'ab' (id 257) is repeated");
  expect_refused(sound + " 257\n", "line 258: expected a token of 1 to 512 bytes");
  expect_refused(sound, "added_tokens_decoder: expected ids from 257, got '9'",
                 R"({"tokenizer_class": "ChatGLM4Tokenizer", "added_tokens_decoder": {"9": {"content": "x"}}})");
}

}  // namespace
}  // namespace realizar::text
