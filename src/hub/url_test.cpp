#include "hub/url.h"

#include <gtest/gtest.h>

#include <string>

namespace realizar::hub {
namespace {

std::string text_of(const Result<Url>& url) {
  return url.ok() ? url->text() : "error";
}

TEST(Url, HasAnOriginAndAPath) {
  const auto url = parse_url("HTTPS://Example.COM:443/a/b?c#d");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->origin(), "https://example.com");
  EXPECT_EQ(url->text(), "https://example.com/a/b?c");
  EXPECT_EQ(url->shown(), "https://example.com/a/b");
  EXPECT_EQ(text_of(parse_url("http://[::1]:8080")), "http://[::1]:8080/");
}

TEST(Url, IsHttpAndNothingElse) {
  for (const char* text : {"", "file:///etc/passwd", "ftp://h/", "//h/", "https://", "https://a b/", "https://a/\n",
                           "https://user@h/", "https://h:0/", "https://h:65536/", "https://h:/", "https://h:x/",
                           "https://[::1/", "https://h\\x/", "javascript:alert(1)"}) {
    EXPECT_FALSE(parse_url(text).ok()) << text;
  }
}

TEST(Url, OfARedirectIsRelativeToThePage) {
  const Url base = *parse_url("https://h/a/b?q");
  EXPECT_EQ(text_of(resolve_url(base, "/c")), "https://h/c");
  EXPECT_EQ(text_of(resolve_url(base, "c")), "https://h/a/c");
  EXPECT_EQ(text_of(resolve_url(base, "?c")), "https://h/a/b?c");
  EXPECT_EQ(text_of(resolve_url(base, "//other/c")), "https://other/c");
  EXPECT_EQ(text_of(resolve_url(base, "http://other:81/c")), "http://other:81/c");
  EXPECT_EQ(text_of(resolve_url(base, "file:///etc/passwd")), "error");
  EXPECT_EQ(text_of(resolve_url(base, "gopher://x/")), "error");
}

TEST(Url, TellsLoopbackFromOthers) {
  for (const char* text : {"http://127.0.0.1/", "http://127.1.2.3:80/", "http://localhost:9/", "http://[::1]/"}) {
    EXPECT_TRUE(parse_url(text)->is_loopback()) << text;
  }
  for (const char* text : {"http://127.0.0.1.example.com/", "http://10.0.0.1/", "http://localhost.example/"}) {
    EXPECT_FALSE(parse_url(text)->is_loopback()) << text;
  }
}

}  // namespace
}  // namespace realizar::hub
