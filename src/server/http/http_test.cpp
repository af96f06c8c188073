#include "server/http/http.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

TEST(HttpRequest, FindsHeadersInAnyCase) {
  HttpRequest request;
  request.headers = {{"Content-Type", "a"}, {"X-Id", "first"}, {"x-id", "second"}, {"Empty", ""}};
  EXPECT_EQ(request.header("content-type"), "a");
  EXPECT_EQ(request.header("X-ID"), "first");
  EXPECT_EQ(request.header("X-I"), "");
  EXPECT_EQ(request.header("Empty"), "");
}

TEST(QueryFields, HaveNamesAndValues) {
  const std::vector<std::pair<std::string, std::string>> expected{{"a", "1"}, {"b c", "&="}, {"d", ""}, {"e", "=f"}};
  EXPECT_EQ(query_fields("a=1&b%20c=%26%3D&d&&e==f"), expected);
  EXPECT_TRUE(query_fields("").empty());
}

TEST(ReasonPhrase, IsNeverEmpty) {
  EXPECT_STREQ(reason_phrase(200), "OK");
  for (int status = 100; status < 600; ++status) EXPECT_STRNE(reason_phrase(status), "") << status;
}

TEST(QueryValue, IsThatOfTheFirstFieldOfTheName) {
  EXPECT_EQ(query_value("action=save&model=a%2Fb", "model"), "a/b");
  EXPECT_EQ(query_value("reaction=1&action=2&action=3", "action"), "2");
  for (const char* query : {"", "&", "action", "actions=1", "=1"}) EXPECT_EQ(query_value(query, "action"), "") << query;
}

}  // namespace
}  // namespace realizar::server
