#include "base/encodings.h"

#include <gtest/gtest.h>

namespace realizar {
namespace {

TEST(Base64, IsThatOfTheRfc) {
  const std::pair<const char*, const char*> cases[] = {{"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
                                                       {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe\xfd", "//79"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes);
  }
}

TEST(Base64, MayLackPaddingAndHaveLineBreaks) {
  EXPECT_EQ(decode_base64("Zg"), "f");
  EXPECT_EQ(decode_base64("Zm\r\n9v\n"), "foo");
  for (const char* text : {"Zm9*", "Zm 9v", "Zm-_"}) EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace realizar
