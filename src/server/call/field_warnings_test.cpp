#include "server/call/field_warnings.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sampling/parameters.h"

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
                           R"({"temprature": 0, "temperature": 1})"}) {
    EXPECT_EQ(warnings(body), "") << body;
  }
}

TEST(FieldWarnings, TellOfOllamasOptionsThatAreNotBuilt) {
  const bool is_built = find_sampling_parameter("mirostat") != nullptr;
  EXPECT_EQ(warnings(R"({"options": {"mirostat": 2}})"), is_built ? "" : "'options.mirostat' is not built.");
  for (const char* body :
       {R"({"options": {"mirostat": 0, "num_gpu": 1}})", R"({"options": 7, "context": [1], "raw": true})",
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

}  // namespace
}  // namespace realizar::server
