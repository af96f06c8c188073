#include "server/dialects/openai/legacy_functions.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

Json mapped(const std::string& body) {
  const auto json = with_tools(*parse_json(body));
  EXPECT_TRUE(json.ok()) << json.error().message;
  return json.ok() ? *json : Json();
}
std::string wrong_part(const std::string& body) {
  const auto json = with_tools(*parse_json(body));
  return json.ok() ? "none" : json.error().subject;
}

TEST(LegacyFunctions, AreSeenInTheBodyAndInItsHistory) {
  for (const char* body : {R"({"functions": []})", R"({"function_call": "auto"})",
                           R"({"messages": [{"role": "user"}, {"role": "function", "content": "x"}]})",
                           R"({"messages": [{"role": "assistant", "function_call": {"name": "f"}}]})"}) {
    EXPECT_TRUE(has_functions(*parse_json(body))) << body;
  }
  for (const char* body : {"{}", R"({"functions": null, "messages": [5, {"role": "tool", "function_call": null}]})"}) {
    EXPECT_FALSE(has_functions(*parse_json(body))) << body;
  }
  EXPECT_FALSE(asks_for_functions(*parse_json(R"({"function_call": "auto"})")));
}

TEST(LegacyFunctions, BecomeTools) {
  const Json json = mapped(R"({"functions": [{"name": "f", "parameters": {}}], "function_call": {"name": "f"}})");
  EXPECT_EQ(dump(json["tools"]), R"([{"type":"function","function":{"name":"f","parameters":{}}}])");
  EXPECT_EQ(dump(json["tool_choice"]), R"({"type":"function","function":{"name":"f"}})");
  EXPECT_EQ(json["parallel_tool_calls"], false);
  EXPECT_EQ(mapped(R"({"functions": [], "function_call": "none"})")["tool_choice"], "none");
}

TEST(LegacyFunctions, CallsOfTheHistoryHaveTheirResults) {
  const Json messages = mapped(R"({"messages": [
      {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}},
      {"role": "function", "name": "f", "content": "1"},
      {"role": "assistant", "function_call": {"name": "g", "arguments": "{}"}},
      {"role": "function", "name": "g", "content": "2"}]})")["messages"];
  EXPECT_EQ(messages[0]["tool_calls"][0]["function"]["name"], "f");
  EXPECT_FALSE(messages[0].contains("function_call"));
  EXPECT_EQ(messages[1]["role"], "tool");
  EXPECT_EQ(messages[1]["tool_call_id"], messages[0]["tool_calls"][0]["id"]);
  EXPECT_EQ(messages[3]["tool_call_id"], messages[2]["tool_calls"][0]["id"]);
  EXPECT_NE(messages[1]["tool_call_id"], messages[3]["tool_call_id"]);
}

TEST(LegacyFunctions, WrongOnesAreNamed) {
  EXPECT_EQ(wrong_part(R"({"functions": {}})"), "functions");
  EXPECT_EQ(wrong_part(R"({"functions": [{"name": "f"}, {}]})"), "functions[1].name");
  EXPECT_EQ(wrong_part(R"({"functions": [], "tools": []})"), "functions");
  EXPECT_EQ(wrong_part(R"({"function_call": "required"})"), "function_call");
  EXPECT_EQ(wrong_part(R"({"function_call": "auto", "tool_choice": "auto"})"), "function_call");
}

}  // namespace
}  // namespace realizar::server
