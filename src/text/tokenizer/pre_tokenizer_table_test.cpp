#include "text/tokenizer/pre_tokenizer_table.h"

#include <gtest/gtest.h>

#include "text/tokenizer/pre_tokenizers.h"

namespace realizar::text {
namespace {

// The pieces of `text`, separated by '|'.
std::string pieces_of(std::string_view name, std::string text) {
  const NamedPreTokenizer* named = find_pre_tokenizer(name);
  if (named == nullptr) return "unknown";
  Pieces pieces;
  pieces.ranges = {{0, text.size()}};
  pieces.text = std::move(text);
  for (std::string_view pattern : named->regexes) {
    auto step = make_regex_split(pattern, SplitBehavior::kIsolated, false);
    if (!step.ok()) return step.error().message;
    (*step)(pieces);
  }
  std::string shown;
  for (const TextRange& range : pieces.ranges) {
    if (!shown.empty()) shown += '|';
    shown.append(pieces.text, range.begin, range.end - range.begin);
  }
  return shown;
}

TEST(PreTokenizerTable, EveryPatternCompilesAndCoversTheText) {
  for (const char* name : {"default",        "gpt-2",       "llama-bpe",  "qwen2",     "qwen35",     "deepseek-llm",
                           "deepseek-coder", "deepseek-v3", "falcon",     "starcoder", "bloom",      "viking",
                           "tekken",         "gpt-4o",      "kimi-k2",    "superbpe",  "bailingmoe", "seed-coder",
                           "jais-2",         "tiny_aya",    "exaone-moe", "youtu",     "gemma4"}) {
    const std::string text =
        "Don't STOP 12345 \u4E2D\u6587\u3042 \uD55C\uAE00 x_y  \n\n caf\u00E9 e\u0301 \U0001F600!? ";
    std::string joined = pieces_of(name, text);
    std::erase(joined, '|');
    EXPECT_EQ(joined, text) << name;
  }
}

TEST(PreTokenizerTable, CutsAsTheModelsDo) {
  EXPECT_EQ(pieces_of("gpt-2", "I'LL we'll 1234  x"), "I|'|LL| we|'ll| 1234| | x");
  EXPECT_EQ(pieces_of("llama-bpe", "I'LL we'll 1234  x"), "I|'LL| we|'ll| |123|4| | x");
  EXPECT_EQ(pieces_of("qwen2", "a 12 $b\n\n c"), "a| |1|2| $|b|\n\n| c");
  EXPECT_EQ(pieces_of("starcoder", "v12 x"), "v|1|2| x");
  EXPECT_EQ(pieces_of("gpt-4o", "HTTPServer don't/"), "HTTPServer| don't|/");
  EXPECT_EQ(pieces_of("superbpe", "1234567"), "1|234|567");
  EXPECT_EQ(pieces_of("kimi-k2", "a\u4E2D\u6587b"), "a|\u4E2D\u6587|b");
  EXPECT_EQ(pieces_of("deepseek-v3", "x \u4E2D\u3042 1234"), "x| |\u4E2D\u3042| |123|4");
  EXPECT_EQ(pieces_of("gemma4", "a b\n\nc"), "a b|\n\n|c");
}

// Digits are grouped by hand-written code; the regular expressions that it replaces are the reference.
TEST(PreTokenizerTable, DigitGroupsMatchTheirExpressions) {
  for (const std::string_view pattern : {"(?=(\\d{3})+(?!\\d))", "\\d{1,3}(?=(?:\\d{3})*\\b)"}) {
    for (const std::string_view text :
         {"1", "12", "123", "1234", "a1234567 12x 1234.5", "x123", "123456", "1_234", ""}) {
      Pieces by_hand, by_regex;
      by_hand.text = by_regex.text = text;
      by_hand.ranges = by_regex.ranges = {{0, text.size()}};
      if (text.empty()) by_hand.ranges = by_regex.ranges = {};
      auto hand = make_regex_split(pattern, SplitBehavior::kIsolated, false);
      auto regex = Regex::compile(pattern);
      ASSERT_TRUE(hand.ok() && regex.ok());
      (*hand)(by_hand);
      make_split(make_regex_pattern(std::move(*regex)), SplitBehavior::kIsolated, false)(by_regex);
      ASSERT_EQ(by_hand.ranges.size(), by_regex.ranges.size()) << pattern << " " << text;
      for (size_t i = 0; i < by_hand.ranges.size(); ++i) {
        EXPECT_EQ(by_hand.ranges[i].begin, by_regex.ranges[i].begin) << pattern << " " << text;
      }
    }
  }
}

TEST(PreTokenizerTable, RefusesAnUnknownName) {
  EXPECT_EQ(find_pre_tokenizer("no-such"), nullptr);
}

}  // namespace
}  // namespace realizar::text
