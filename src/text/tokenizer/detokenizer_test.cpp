// The concatenated output of the streaming detokenizer equals the whole text decoded at once, cut at the first stop
// string; and each output consists of whole characters.
#include "text/tokenizer/detokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "text/tokenizer/byte_tokenizer_rig.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

// How many bytes of the text are certain after the first n tokens.
size_t n_bytes_after(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, uint32_t n_tokens) {
  StreamingDetokenizer detokenizer(tokenizer, {});
  for (uint32_t i = 0; i < std::min<size_t>(n_tokens, ids.size()); ++i) detokenizer.push(ids[i]);
  return detokenizer.n_text_bytes();
}

std::string naive(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, const std::vector<std::string>& stops,
                  uint32_t min_tokens = 0) {
  const std::string text = replace_invalid_utf8(tokenizer.decode(ids));
  const size_t n_unstoppable = ids.size() < min_tokens ? text.size() : n_bytes_after(tokenizer, ids, min_tokens);
  size_t cut = text.size();
  for (const std::string& stop : stops) {
    // A stop string counts if it ends after the first n_unstoppable bytes.
    const size_t from = n_unstoppable < stop.size() ? 0 : n_unstoppable - stop.size() + 1;
    if (!stop.empty()) cut = std::min(cut, text.find(stop, from));
  }
  return text.substr(0, cut);
}

std::string stream(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, const std::vector<std::string>& stops,
                   uint32_t min_tokens = 0) {
  StreamingDetokenizer detokenizer(tokenizer, stops, {}, {}, min_tokens);
  std::string all;
  for (TokenId id : ids) {
    const auto [text, stopped] = detokenizer.push(id);
    EXPECT_TRUE(is_valid_utf8(text));
    all += text;
    if (stopped) break;
  }
  return all + detokenizer.finish().text;
}

TEST(StreamingDetokenizer, HoldsBackHalfACharacter) {
  const Tokenizer tokenizer = make_byte_tokenizer({}, false);
  StreamingDetokenizer detokenizer(tokenizer, {});
  EXPECT_EQ(detokenizer.push(byte_token(0xE2)).text, "");
  EXPECT_EQ(detokenizer.push(byte_token(0x82)).text, "");
  EXPECT_EQ(detokenizer.push(byte_token(0xAC)).text, "\u20AC");
  EXPECT_EQ(detokenizer.push(byte_token(0xF0)).text, "");
  EXPECT_EQ(detokenizer.push(byte_token('a')).text, "\uFFFDa");
  EXPECT_EQ(detokenizer.push(byte_token(0xE2)).text, "");
  EXPECT_EQ(detokenizer.finish().text, "\uFFFD");
  StreamingDetokenizer cut(tokenizer, {});
  EXPECT_EQ(cut.push(byte_token(0xE2)).text, "");
  EXPECT_EQ(cut.finish(/*is_cut=*/true).text, "");
}

TEST(StreamingDetokenizer, HoldsBackWhatMayBecomeAStopString) {
  const Tokenizer tokenizer = make_byte_tokenizer({"ab", "c", "abd"}, false);
  StreamingDetokenizer detokenizer(tokenizer, {"abc"});
  EXPECT_EQ(detokenizer.push(*tokenizer.find("ab")).text, "");
  EXPECT_EQ(detokenizer.push(*tokenizer.find("ab")).text, "ab");
  const auto [text, stopped] = detokenizer.push(*tokenizer.find("c"));
  EXPECT_EQ(text, "");
  EXPECT_TRUE(stopped);
  EXPECT_EQ(detokenizer.finish().text, "");
}

TEST(StreamingDetokenizer, TheStopStringThatBeginsFirstWins) {
  const Tokenizer tokenizer = make_byte_tokenizer({"ab", "cd", "e", "f"}, false);
  const TokenId ab = *tokenizer.find("ab"), cd = *tokenizer.find("cd");
  EXPECT_EQ(stream(tokenizer, {ab, cd, *tokenizer.find("e")}, {"bcde", "cd"}), "a");
  EXPECT_EQ(stream(tokenizer, {ab, cd, *tokenizer.find("f")}, {"bcde", "cd"}), "ab");
  EXPECT_EQ(stream(tokenizer, {ab, cd}, {"bcde", "cd"}), "ab");
}

TEST(StreamingDetokenizer, AStopStringThatComesTooEarlyIsText) {
  const Tokenizer tokenizer = make_byte_tokenizer({"ab", "c"}, false);
  const TokenId ab = *tokenizer.find("ab"), c = *tokenizer.find("c");
  EXPECT_EQ(stream(tokenizer, {ab, c, ab, c, ab}, {"abc"}, 1), "");
  EXPECT_EQ(stream(tokenizer, {ab, c, ab, c, ab}, {"abc"}, 2), "abc");
  EXPECT_EQ(stream(tokenizer, {ab, c, ab, c, ab}, {"abc"}, 3), "abc");
  EXPECT_EQ(stream(tokenizer, {ab, c, ab, c, ab}, {"abc"}, 4), "abcabcab");
  EXPECT_EQ(stream(tokenizer, {ab, c}, {"abc"}, 9), "abc");
}

TEST(StreamingDetokenizer, TakesOneSpaceOffTheStartOnly) {
  const Tokenizer tokenizer = make_byte_tokenizer({"\u2581a"}, true);
  const TokenId a = *tokenizer.find("\u2581a");
  EXPECT_EQ(stream(tokenizer, {TokenId{0}, a, a}, {}), "a a");
}

TEST(StreamingDetokenizer, EqualsDecodingAtOnce) {
  std::mt19937 random(7);
  for (bool add_space_prefix : {false, true}) {
    const Tokenizer tokenizer =
        make_byte_tokenizer({"\u2581a", "ab", "ba", "\u2581", "\u20AC", "aab"}, add_space_prefix);
    const std::vector<TokenId> choices = {TokenId{0},       TokenId{257},     TokenId{258},    TokenId{259},
                                          TokenId{260},     TokenId{261},     TokenId{262},    TokenId{100000},
                                          byte_token('a'),  byte_token('b'),  byte_token(' '), byte_token(0xE2),
                                          byte_token(0x82), byte_token(0xAC), byte_token(0xF0)};
    const std::vector<std::string> stop_choices = {"",        "abab",   "ba b",   "bba", "\u20AC\u20AC",
                                                   "a\u20AC", "aabaab", "\uFFFDa"};
    for (int trial = 0; trial < 3000; ++trial) {
      std::vector<TokenId> ids(random() % 24);
      for (TokenId& id : ids) id = choices[random() % choices.size()];
      std::vector<std::string> stops(random() % 4);
      for (std::string& stop : stops) stop = stop_choices[random() % stop_choices.size()];
      const auto min_tokens = static_cast<uint32_t>(random() % 2 * (random() % 8));
      ASSERT_EQ(stream(tokenizer, ids, stops, min_tokens), naive(tokenizer, ids, stops, min_tokens))
          << "trial " << trial;
    }
  }
}

}  // namespace
}  // namespace realizar::text
