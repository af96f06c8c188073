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

TEST(HttpHead, CountsEmptyLinesAtTheBeginning) {
  EXPECT_EQ(n_empty_line_bytes(""), 0u);
  EXPECT_EQ(n_empty_line_bytes("\r"), 0u);
  EXPECT_EQ(n_empty_line_bytes("\r\n\r\nGET / HTTP/1.1\r\n\r\n"), 4u);
  EXPECT_EQ(n_empty_line_bytes("GET / HTTP/1.1\r\n\r\n"), 0u);
  EXPECT_EQ(n_empty_line_bytes("\n\r\n"), 0u);
}

TEST(HttpHead, SeesFoldedLines) {
  EXPECT_TRUE(has_folded_line("GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n"));
  EXPECT_TRUE(has_folded_line("A: b\r\n\tc\r\n"));
  EXPECT_TRUE(has_folded_line("GET / HTTP/1.1\r\n A: b\r\n"));
  EXPECT_FALSE(has_folded_line("GET / HTTP/1.1\r\nA: b\r\n"));
  EXPECT_FALSE(has_folded_line("A:  b\r\nB:\tc\r\n\r\n body\r\n body"));
  EXPECT_FALSE(has_folded_line("\r\n body\r\n body"));
  EXPECT_FALSE(has_folded_line(""));
}

TEST(HttpHead, TakesThePathOfAnAbsoluteTarget) {
  EXPECT_EQ(origin_form("http://x/livez?a=b"), "/livez?a=b");
  EXPECT_EQ(origin_form("http://x"), "/");
  EXPECT_EQ(origin_form("/a?b=http://c/d"), "/a?b=http://c/d");
  EXPECT_EQ(origin_form("*"), "*");
}

TEST(HttpHead, RefusesWhatTwoReadersCouldReadDifferently) {
  HttpRequest request;
  EXPECT_NE(wrong_headers(request, false), "");
  EXPECT_EQ(wrong_headers(request, true), "");
  request.headers = {{"Host", "a"}, {"Accept", "x"}, {"Accept", "y"}, {"Authorization", "Bearer a"}};
  EXPECT_EQ(wrong_headers(request, false), "");
  request.headers.emplace_back("authorization", "Bearer b");
  EXPECT_EQ(wrong_headers(request, false), "expected one Authorization header, actual 2");
  request.headers = {{"Host", "a"}, {"host", "a"}};
  EXPECT_EQ(wrong_headers(request, false), "expected one Host header, actual 2");
}

TEST(HttpHead, TakesNoTransferEncodingButChunked) {
  const auto wrong = [](Headers headers, bool is_http_1_0 = false) {
    headers.emplace_back("Host", "a");
    HttpRequest request;
    request.headers = std::move(headers);
    return wrong_headers(request, is_http_1_0);
  };
  for (const char* coding : {"chunked", "Chunked", " chunked\t"}) {
    EXPECT_EQ(wrong({{"Transfer-Encoding", coding}}), "") << coding;
  }
  for (const char* coding : {"", "xchunked", "gzip", "identity", "chunked, identity", "gzip, chunked",
                             "chunked, chunked", "chunked,", "chunked;q=1", "\"chunked\"",
                             "\x0b"
                             "chunked"}) {
    EXPECT_NE(wrong({{"transfer-encoding", coding}}), "") << coding;
  }
  EXPECT_NE(wrong({{"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}}), "");
  EXPECT_NE(wrong({{"Transfer-Encoding", "chunked"}, {"Content-Length", "3"}}), "");
  EXPECT_NE(wrong({{"Transfer-Encoding", "chunked"}}, true), "");
  EXPECT_LT(wrong({{"Transfer-Encoding", std::string(30'000, 'x')}}).size(), 300u);
}

TEST(HttpHead, FindsATagAmongThoseThatAClientHas) {
  for (const char* header : {"W/\"1a\"", "\"1a\"", "*", "\"x\", W/\"1a\"", "\"x\",\"1a\" "}) {
    EXPECT_TRUE(names_tag(header, "W/\"1a\"")) << header;
  }
  for (const char* header : {"", "\"1\"", "1a", "W/\"1a", "\"x\", ,"})
    EXPECT_FALSE(names_tag(header, "W/\"1a\"")) << header;
}

TEST(HttpHead, ReadsWhetherAClientTakesGzip) {
  for (const char* header : {"gzip", "gzip, deflate, br", "br;q=1.0, gzip;q=0.8", "deflate , gzip ; q=0.001"}) {
    EXPECT_TRUE(accepts_gzip(header)) << header;
  }
  for (const char* header : {"", "identity", "gzip;q=0", "gzip; q=0.000", "br, xgzip", "*;q=0"}) {
    EXPECT_FALSE(accepts_gzip(header)) << header;
  }
}

TEST(HttpHead, WritesDatesAsHttpHasThem) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(http_date(1709164799), "Wed, 28 Feb 2024 23:59:59 GMT");
}

}  // namespace
}  // namespace realizar::server
