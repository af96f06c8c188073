#include "server/shared/redis_reply.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

std::span<const char> bytes_of(std::string_view text) {
  return {text.data(), text.size()};
}

TEST(RedisReader, EveryKindOfReplyIsReadHoweverItIsCut) {
  const std::string all =
      "+OK\r\n-ERR no\r\n:42\r\n$-1\r\n$5\r\na\r\nbc\r\n*3\r\n$1\r\nx\r\n$-1\r\n:7\r\n*-1\r\n*0\r\n";
  for (size_t piece = 1; piece <= all.size(); ++piece) {
    RedisReader reader;
    std::vector<RedisReply> replies;
    for (size_t at = 0; at < all.size(); at += piece) {
      ASSERT_TRUE(reader.feed(bytes_of(std::string_view(all).substr(at, piece))).ok());
      while (auto reply = reader.next().value()) replies.push_back(std::move(*reply));
    }
    ASSERT_EQ(replies.size(), 8u) << piece;
    EXPECT_EQ(replies[0].kind, RedisReply::Kind::kStatus);
    EXPECT_EQ(replies[0].text, "OK");
    EXPECT_TRUE(replies[1].is_error());
    EXPECT_EQ(replies[2].number, 42);
    EXPECT_EQ(replies[3].kind, RedisReply::Kind::kNil);
    EXPECT_EQ(replies[4].text, "a\r\nbc");
    ASSERT_EQ(replies[5].list.size(), 3u);
    EXPECT_EQ(replies[5].list[0].text, "x");
    EXPECT_EQ(replies[5].list[1].kind, RedisReply::Kind::kNil);
    EXPECT_EQ(replies[5].list[2].number, 7);
    EXPECT_EQ(replies[6].kind, RedisReply::Kind::kNil);
    EXPECT_TRUE(replies[7].list.empty());
  }
}

TEST(RedisReader, WhatIsNoReplyIsAnError) {
  for (const char* text : {"hello\r\n", "$x\r\n", ":1x\r\n", "*1\r\n?\r\n"}) {
    RedisReader reader;
    ASSERT_TRUE(reader.feed(bytes_of(text)).ok());
    EXPECT_EQ(reader.next().error().code, ErrorCode::kFormatError) << text;
  }
}

TEST(RedisReader, AListThatIsLongerThanItMayBeIsRefusedBeforeItsItemsCome) {
  RedisReader reader;
  reader.set_bounds({1 << 10, 2});
  ASSERT_TRUE(reader.feed(bytes_of("*2\r\n:1\r\n:2\r\n")).ok());
  EXPECT_EQ(reader.next().value()->list.size(), 2u);
  for (const char* text : {"*3\r\n", "*2147483647\r\n", "*1\r\n*1\r\n*1\r\n", "*1\r\n*2\r\n", "*1\r\n:1\r\n*2\r\n"}) {
    RedisReader other;
    other.set_bounds({1 << 10, 2});
    ASSERT_TRUE(other.feed(bytes_of(text)).ok());
    auto reply = other.next();
    if (reply.ok() && *reply) reply = other.next();
    EXPECT_FALSE(reply.ok()) << text;
  }
}

TEST(RedisReader, ListsMayHoldLists) {
  RedisReader reader;
  reader.set_bounds({100, 4});
  ASSERT_TRUE(reader.feed(bytes_of("*2\r\n$1\r\n7\r\n*2\r\n+a\r\n+b\r\n")).ok());
  const auto reply = reader.next().value();
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->list[0].text, "7");
  ASSERT_EQ(reply->list[1].list.size(), 2u);
  EXPECT_EQ(reply->list[1].list[1].text, "b");
}

TEST(RedisReader, MoreBytesThanItMayHaveAreRefusedWhateverALengthSays) {
  RedisReader reader;
  reader.set_bounds({100, 1});
  ASSERT_TRUE(reader.feed(bytes_of("$9000000000000\r\n")).ok());
  EXPECT_FALSE(reader.next().value().has_value());
  const std::string more(50, 'x');
  EXPECT_TRUE(reader.feed(bytes_of(more)).ok());
  EXPECT_EQ(reader.feed(bytes_of(more)).error().code, ErrorCode::kFormatError);
}

}  // namespace
}  // namespace realizar::server
