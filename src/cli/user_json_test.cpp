#include "cli/user_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace realizar::cli {
namespace {

std::string message(const std::string& text) {
  const auto json = parse_json_text(text, source_name("-"));
  return json.ok() ? json->dump() : json.error().message;
}

TEST(JsonText, IsRead) {
  EXPECT_EQ(message("{\"b\": 1, \"a\": [true]}\n"), "{\"b\":1,\"a\":[true]}");
  EXPECT_EQ(message("7"), "7");
}

TEST(JsonText, ThatIsWrongIsToldWithItsPlace) {
  const std::pair<const char*, const char*> cases[] = {{"", "standard input, line 1, column 1: this is not JSON: "},
                                                       {"x", "standard input, line 1, column 1: this is not JSON: "},
                                                       {"{\"a\": 1,\n \"b\" 2}", "standard input, line 2, column 6: "},
                                                       {"[1]\n[2]", "standard input, line 2, column 1: "}};
  for (const auto& [text, begin] : cases) EXPECT_TRUE(message(text).starts_with(begin)) << message(text);
}

}  // namespace
}  // namespace realizar::cli
