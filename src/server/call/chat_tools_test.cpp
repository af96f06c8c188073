#include "server/call/chat_tools.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/dialects/responses/responses_writer.h"

namespace realizar::server {
namespace {

Result<ChatTool> read(const std::string& custom) {
  return read_custom_tool(Json::parse(custom), "tools[1].custom");
}

std::string wrong_tool_field(const std::string& custom) {
  const auto tool = read(custom);
  return tool.ok() ? "none" : tool.error().subject;
}

TEST(CustomTools, AreFunctionsWithATextToTheModel) {
  const auto plain = read(R"({"name": "say", "description": "Says it"})");
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(plain->json["function"]["name"], "say");
  EXPECT_EQ(plain->json["function"]["parameters"]["required"], Json::array({"input"}));
  EXPECT_EQ(plain->input, nullptr);
  for (const char* format : {R"({"type": "grammar", "syntax": "regex", "definition": "a+"})",
                             R"({"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: \"a\"+"}})"}) {
    const auto held = read(std::string(R"({"name": "say", "format": )") + format + "}");
    ASSERT_TRUE(held.ok()) << held.error().message;
    EXPECT_NE(held->input, nullptr);
    const std::string described = held->json["function"]["parameters"]["properties"]["input"]["description"];
    EXPECT_NE(described.find("a"), std::string::npos);
  }
}

TEST(CustomTools, AreRefusedByTheFieldThatIsWrong) {
  EXPECT_EQ(wrong_tool_field("5"), "tools[1].custom");
  EXPECT_EQ(wrong_tool_field("{}"), "tools[1].custom.name");
  EXPECT_EQ(wrong_tool_field(R"({"name": "a b"})"), "tools[1].custom.name");
  EXPECT_EQ(wrong_tool_field(R"({"name": "a", "description": 5})"), "tools[1].custom.description");
  EXPECT_EQ(wrong_tool_field(R"({"name": "a", "format": []})"), "tools[1].custom.format");
  EXPECT_EQ(wrong_tool_field(R"({"name": "a", "format": {"type": "yaml"}})"), "tools[1].custom.format.type");
  const auto with = [](const std::string& syntax, const std::string& definition) {
    return R"({"name": "a", "format": {"type": "grammar", "syntax": )" + syntax + R"(, "definition": )" + definition +
           "}}";
  };
  EXPECT_EQ(wrong_tool_field(with("7", "\"a\"")), "tools[1].custom.format.syntax");
  EXPECT_EQ(wrong_tool_field(with("\"gbnf\"", "\"a\"")), "tools[1].custom.format.syntax");
  EXPECT_EQ(wrong_tool_field(with("\"regex\"", "{}")), "tools[1].custom.format.definition");
  EXPECT_EQ(wrong_tool_field(with("\"regex\"", "null")), "tools[1].custom.format.definition");
  EXPECT_EQ(wrong_tool_field(with("\"regex\"", "\"(\"")), "tools[1].custom.format.definition");
  EXPECT_EQ(wrong_tool_field(with("\"lark\"", "\"x: y\"")), "tools[1].custom.format.definition");
}

// The text of one call, whose arguments arrive in pieces of n_bytes.
std::string input_of(const std::string& arguments, size_t n_bytes) {
  CustomInput input;
  std::string text;
  for (size_t at = 0; at < arguments.size(); at += n_bytes) text += input.push(arguments.substr(at, n_bytes));
  return text + input.finish();
}

TEST(CustomInput, IsTheArgumentsTextHoweverItIsCut) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"input": "a\n\"b\"\\ c\/"})", "a\n\"b\"\\ c/"},
      {R"( { "input" :"\u00e9\ud83d\ude00\u0041"} )",
       "\xC3\xA9\xF0\x9F\x98\x80"
       "A"},
      {R"({"input": ""})", ""},
      {R"({"input": "ab)", "ab"},
      {R"({"command": "ls"})", R"({"command": "ls"})"},
      {R"({"input": ["a"]})", R"({"input": ["a"]})"},
      {"{}", "{}"},
      {"", ""},
  };
  for (const auto& [arguments, text] : cases) {
    for (const size_t n_bytes : {size_t{1}, size_t{3}, size_t{100}}) {
      EXPECT_EQ(input_of(arguments, n_bytes), text) << arguments << " in pieces of " << n_bytes;
    }
  }
}

TEST(PackedReasoning, ComesBack) {
  for (const std::string text : {"", "a", "ab", "abc", "\xC3\xA9\n", "a longer thought"}) {
    EXPECT_EQ(unpacked_reasoning(packed_reasoning(text)), text);
  }
  for (const char* other : {"", "gAAAA", "realizar-reasoning:a", "realizar-reasoning:a*=="}) {
    EXPECT_EQ(unpacked_reasoning(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace realizar::server
