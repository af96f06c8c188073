#include "base/encodings.h"

#include <gtest/gtest.h>

namespace realizar {
namespace {

TEST(PercentDecoded, DecodesEscapesAndNothingElse) {
  EXPECT_EQ(percent_decoded("a%20b%2Fc%c3%A4"), "a b/cä");
  EXPECT_EQ(percent_decoded("%00"), std::string(1, '\0'));
  for (const char* text : {"", "plain", "100%", "%4", "%zz", "%4z", "%-1", "%+1", "% 1"}) {
    EXPECT_EQ(percent_decoded(text), text);
  }
  EXPECT_EQ(percent_decoded("%2541"), "%41");
}

TEST(PercentEncoded, SpellsWhatAPathMayNotHold) {
  EXPECT_EQ(percent_encoded("a b/c+d%.gguf"), "a%20b/c%2Bd%25.gguf");
}

}  // namespace
}  // namespace realizar
