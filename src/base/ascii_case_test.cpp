#include "base/ascii_case.h"

#include <gtest/gtest.h>

namespace realizar {
namespace {

TEST(AsciiCase, LettersAloneHaveACase) {
  EXPECT_TRUE(equals_ignoring_case("Content-TYPE", "content-type"));
  EXPECT_FALSE(equals_ignoring_case("gzip", "gzi"));
  EXPECT_FALSE(equals_ignoring_case("[", "{")) << "32 apart, as letters of both cases are";
  EXPECT_FALSE(equals_ignoring_case("\xc4", "\xe4"));
  EXPECT_TRUE(equals_ignoring_case({}, "")) << "a text that is absent is an empty one";
}

TEST(AsciiCase, BeginningsAndEnds) {
  EXPECT_TRUE(starts_with_ignoring_case("BEARER x", "Bearer "));
  EXPECT_FALSE(starts_with_ignoring_case("Bear", "Bearer "));
  EXPECT_TRUE(ends_with_ignoring_case("model:LATEST", ":latest"));
  EXPECT_FALSE(ends_with_ignoring_case("test", ":latest"));
  EXPECT_TRUE(ends_with_ignoring_case("x", {}));
}

}  // namespace
}  // namespace realizar
