#include "server/call/read_body.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

std::string warnings(const std::string& body) {
  return field_warnings(*parse_json(body));
}

TEST(FieldWarnings, NameTheFieldThatWasMeant) {
  EXPECT_EQ(warnings(R"({"temprature": 0})"), "'temprature' is not a field; did you mean 'temperature'?");
  const std::pair<const char*, const char*> slips[] = {
      {"maxTokens", "max_tokens"},           {"max-tokens", "max_tokens"},
      {"max_token", "max_tokens"},           {"top-p", "top_p"},
      {"Temperature", "temperature"},        {"mesages", "messages"},
      {"responseFormat", "response_format"}, {"stpo", "stop"}};
  for (const auto& [slip, meant] : slips) {
    const std::string told = warnings("{\"" + std::string(slip) + "\": 1}");
    EXPECT_NE(told.find("'" + std::string(meant) + "'"), std::string::npos) << slip << ": " << told;
  }
}

TEST(FieldWarnings, AreSilentOfWhatOthersKnowAndOfWhatIsNearNothing) {
  for (const char* body : {"{}", R"({"model": "x", "messages": [], "user": "u", "mirostat": 2, "metadata": {}})",
                           R"({"x_custom": 1, "foo": 2, "zzzzzzzz": 3, "": 4})", R"({"\u00e9temperature": 1})",
                           R"({"temprature": 0, "temperature": 1})",
                           R"({"options": {"mirostat": 0, "num_gpu": 1}, "context": [1], "raw": true})",
                           R"({"images": [], "shift": true, "system": "", "template": ""})"}) {
    EXPECT_EQ(warnings(body), "") << body;
  }
}

TEST(FieldWarnings, StandInAHeader) {
  std::string body = "{";
  for (int i = 0; i < 200; ++i)
    body += fmt::format("{}\"temperatur{}\": 1", i > 0 ? ", " : "", static_cast<char>('f' + i % 20));
  const std::string told = warnings(body + "}");
  EXPECT_LT(told.size(), 500u);
  EXPECT_NE(told, "");
  EXPECT_EQ(warnings(R"({"temper\nature": 1, "temper\u007fature": 1})"), "");
}

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
