#include "server/call/schema_warning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace realizar::server {
namespace {

std::string warning(const std::vector<std::string>& left_out) {
  return schema_warning(left_out);
}

TEST(SchemaWarning, NamesWhatIsLeftOut) {
  EXPECT_EQ(warning({}), "");
  EXPECT_EQ(warning({"#/properties/a/not"}), "The answer is not held to '#/properties/a/not' of its schema.");
  EXPECT_EQ(warning({"f#/not", "#/contains"}), "The answer is not held to 'f#/not', '#/contains' of its schema.");
  EXPECT_EQ(warning({"a", "b", "c", "d", "e", "f"}),
            "The answer is not held to 'a', 'b', 'c', 'd' and 2 more of its schema.");
}

TEST(SchemaWarning, StandsInAHeader) {
  const std::string text = warning({"#/a b'\r\n\xC3\xA9", std::string(9000, '\n'), std::string(9000, 'x'), "", "", ""});
  EXPECT_NE(text.find("'#/a%20b%27%0D%0A%C3%A9'"), std::string::npos) << text;
  EXPECT_LT(text.size(), 500u);
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; })) << text;
}

}  // namespace
}  // namespace realizar::server
