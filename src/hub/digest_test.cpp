
#include <gtest/gtest.h>

#include <string>

#include "hub/hash.h"

namespace realizar::hub {
namespace {

TEST(Digest, OfATextIsThatOfTheFileWithIt) {
  EXPECT_EQ(sha256_text(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  std::string text;
  for (size_t n = 0; n < 300; ++n) {
    auto hasher = Hasher::create(Digest::Kind::kSha256, text.size());
    ASSERT_TRUE(hasher.ok());
    hasher->add(text);
    EXPECT_EQ(sha256_text(text), hasher->finish()) << n;
    text += static_cast<char>(n * 37);
  }
}

}  // namespace
}  // namespace realizar::hub
