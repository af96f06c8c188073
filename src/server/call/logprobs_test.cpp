#include "server/call/logprobs.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

std::string text_of(TokenId id) {
  static const std::map<int32_t, std::string> kTexts{{5, "ä"},    {6, "b"},    {7, " c"},
                                                     {8, "\xc3"}, {9, "\xa4"}, {10, "b"}};
  return kTexts.at(static_cast<int32_t>(to_index(id)));
}
const TokenText kText = text_of;

TokenLog two_tokens() {
  TokenLog log;
  log.add(TokenId{5}, -0.5f, std::vector<TokenLogprob>{{TokenId{5}, -0.5f}, {TokenId{6}, -1.25f}});
  log.add(TokenId{7}, -2.0f, {});
  return log;
}

std::string written(const std::function<Json(JsonPieces&)>& make) {
  JsonPieces pieces;
  pieces.put(make(pieces));
  std::string text;
  pieces.write(text, SIZE_MAX);
  return text;
}

TEST(TokenLog, KeepsEachTokensAlternatives) {
  TokenLog log = two_tokens();
  log.append(two_tokens());
  ASSERT_EQ(log.size(), 4u);
  EXPECT_EQ(log.n_alternatives(), 4u);
  EXPECT_EQ(log[2].id, TokenId{5});
  ASSERT_EQ(log[2].top.size(), 2u);
  EXPECT_EQ(log[2].top[1].id, TokenId{6});
  EXPECT_EQ(log[2].top[1].logprob, -1.25f);
  EXPECT_EQ(log[3].logprob, -2.0f);
  EXPECT_TRUE(log[1].top.empty());
}

TEST(ChatLogprobs, HaveTokensBytesAndTheLikeliest) {
  const std::string expected = R"([{"token":"ä","logprob":-0.5,"bytes":[195,164],"top_logprobs":[)"
                               R"({"token":"ä","logprob":-0.5,"bytes":[195,164]},)"
                               R"({"token":"b","logprob":-1.25,"bytes":[98]}]},)"
                               R"({"token":" c","logprob":-2.0,"bytes":[32,99],"top_logprobs":[]}])";
  const TokenLog log = two_tokens();
  EXPECT_EQ(dump(spelled(log, ChatLogprob{kText})), expected);
  EXPECT_EQ(written([&](JsonPieces& pieces) { return spelled(log, ChatLogprob{kText}, pieces); }), expected);
  EXPECT_EQ(dump(spelled(TokenLog(), ChatLogprob{kText})), "[]");
  EXPECT_EQ(spelled(log, ChatLogprob{kText}, 1, 1).size(), 1u);
}

TEST(TokenProbabilities, AreLlamaServers) {
  const TokenLog log = two_tokens();
  EXPECT_EQ(
      dump(spelled(log, TokenProbability{kText})[0]),
      R"({"id":5,"token":"ä","bytes":[195,164],"logprob":-0.5,"top_logprobs":[)"
      R"({"id":5,"token":"ä","bytes":[195,164],"logprob":-0.5},{"id":6,"token":"b","bytes":[98],"logprob":-1.25}]})");
  const Json after = spelled(log, TokenProbability{kText, true})[1];
  EXPECT_TRUE(after.contains("prob") && after.contains("top_probs") && !after.contains("logprob")) << after;
}

TEST(TextLogprobs, HaveFourListsWithOffsetsInCharacters) {
  const TokenLog log = two_tokens();
  const std::string expected = R"({"tokens":["ä"," c"],"token_logprobs":[-0.5,-2.0],)"
                               R"("top_logprobs":[{"ä":-0.5,"b":-1.25},{}],"text_offset":[10,11]})";
  size_t offset = 10;
  EXPECT_EQ(dump(text_logprobs(std::nullopt, log, kText, offset)), expected);
  EXPECT_EQ(offset, 13u);
  const std::optional<std::string> none, first = "日本";
  EXPECT_EQ(written([&](JsonPieces& pieces) { return text_logprobs(none, log, kText, 10, pieces); }), expected);
  offset = 0;
  const Json unscored = text_logprobs(first, log, kText, offset);
  EXPECT_EQ(dump(unscored), R"({"tokens":["日本","ä"," c"],"token_logprobs":[null,-0.5,-2.0],)"
                            R"("top_logprobs":[null,{"ä":-0.5,"b":-1.25},{}],"text_offset":[0,2,3]})");
  EXPECT_EQ(written([&](JsonPieces& pieces) { return text_logprobs(first, log, kText, 0, pieces); }), dump(unscored));
}

TEST(TextLogprobs, AlternativesOfOneTextAreOneMember) {
  TokenLog log;
  log.add(TokenId{5}, -1, std::vector<TokenLogprob>{{TokenId{6}, -0.5f}, {TokenId{10}, -4.0f}});
  size_t offset = 0;
  EXPECT_EQ(dump(text_logprobs(std::nullopt, log, kText, offset)["top_logprobs"]), R"([{"b":-4.0}])");
}

TEST(TextLogprobs, HalfACharacterIsCountedOnce) {
  TokenLog log;
  log.add(TokenId{8}, -1, {});
  log.add(TokenId{9}, -1, {});
  size_t offset = 0;
  EXPECT_EQ(dump(text_logprobs(std::nullopt, log, kText, offset)["tokens"]), "[\"\uFFFD\",\"\uFFFD\"]");
  EXPECT_EQ(offset, 1u);
}

TEST(Characters, AreNotBytes) {
  EXPECT_EQ(n_characters(""), 0u);
  EXPECT_EQ(n_characters("aä日🦆"), 4u);
}

}  // namespace
}  // namespace realizar::server
