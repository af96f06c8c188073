#include "server/logprobs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

std::vector<TokenInfo> two_tokens() {
  TokenInfo first{TokenId{5}, "ä", -0.5f, {{TokenId{5}, "ä", -0.5f}, {TokenId{6}, "b", -1.25f}}};
  TokenInfo second{TokenId{7}, " c", -2.0f, {}};
  return {first, second};
}

TEST(ChatLogprobs, HaveTokensBytesAndTheLikeliest) {
  EXPECT_EQ(dump(chat_logprobs(two_tokens())),
            R"([{"token":"ä","logprob":-0.5,"bytes":[195,164],"top_logprobs":[)"
            R"({"token":"ä","logprob":-0.5,"bytes":[195,164]},{"token":"b","logprob":-1.25,"bytes":[98]}]},)"
            R"({"token":" c","logprob":-2.0,"bytes":[32,99],"top_logprobs":[]}])");
  EXPECT_EQ(dump(chat_logprobs({})), "[]");
}

TEST(ChatLogprobs, AreAppended) {
  Json list = chat_logprobs(two_tokens());
  append_chat_logprobs(two_tokens(), list);
  EXPECT_EQ(list.size(), 4u);
}

TEST(TextLogprobs, HaveFourListsWithOffsetsInCharacters) {
  Json logprobs;
  size_t offset = 10;
  append_text_logprobs(two_tokens(), offset, logprobs);
  EXPECT_EQ(dump(logprobs), R"({"tokens":["ä"," c"],"token_logprobs":[-0.5,-2.0],)"
                            R"("top_logprobs":[{"ä":-0.5,"b":-1.25},{}],"text_offset":[10,11]})");
  EXPECT_EQ(offset, 13u);
}

TEST(TextLogprobs, HalfACharacterIsCountedOnce) {
  Json logprobs;
  size_t offset = 0;
  append_text_logprobs({{TokenId{1}, "\xc3", -1, {}}, {TokenId{2}, "\xa4", -1, {}}}, offset, logprobs);
  EXPECT_EQ(offset, 1u);
  EXPECT_EQ(dump(logprobs["tokens"]), "[\"\uFFFD\",\"\uFFFD\"]");
}

TEST(Characters, AreNotBytes) {
  EXPECT_EQ(n_characters(""), 0u);
  EXPECT_EQ(n_characters("aä日🦆"), 4u);
}

}  // namespace
}  // namespace realizar::server
