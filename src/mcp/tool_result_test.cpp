#include "mcp/tool.h"

#include <gtest/gtest.h>

namespace realizar::mcp {
namespace {

std::string text_of(const Json& result) {
  const auto read = read_tool_result(result);
  return read.ok() ? read->text : "error: " + read.error().message;
}

TEST(ToolResult, TextsStandBelowEachOther) {
  EXPECT_EQ(text_of({{"content", {{{"type", "text"}, {"text", "72 F"}}, {{"type", "text"}, {"text", "dry"}}}}}),
            "72 F\ndry");
}

TEST(ToolResult, WhatIsNoTextIsNamed) {
  const Json content = {{{"type", "image"}, {"data", "AAAA"}, {"mimeType", "image/png"}},
                        {{"type", "audio"}, {"data", "AAAA"}, {"mimeType", "audio/wav"}},
                        {{"type", "resource"}, {"resource", {{"uri", "file:///a"}, {"text", "inner"}}}},
                        {{"type", "resource"}, {"resource", {{"uri", "file:///b"}, {"blob", "AAAA"}}}},
                        {{"type", "resource_link"}, {"uri", "file:///c"}, {"name", "c"}},
                        {{"type", "hologram"}},
                        7};
  EXPECT_EQ(text_of({{"content", content}}),
            "[an image (image/png) is left out: only text can be read here]\n"
            "[a sound (audio/wav) is left out: only text can be read here]\n"
            "file:///a:\ninner\n"
            "[the resource file:///b is left out: only text can be read here]\n"
            "[a link to c: file:///c]\n"
            "[content of the type 'hologram' is left out: only text can be read here]\n"
            "[content of the type '' is left out: only text can be read here]");
}

TEST(ToolResult, StructuredContentStandsInForText) {
  const Json structured = {{"temperature", 22.5}};
  EXPECT_EQ(text_of({{"content", Json::array()}, {"structuredContent", structured}}), R"({"temperature":22.5})");
  EXPECT_EQ(text_of({{"content", {{{"type", "text"}, {"text", "22.5"}}}}, {"structuredContent", structured}}), "22.5");
}

TEST(ToolResult, ErrorsAreTheTools) {
  const auto result =
      read_tool_result({{"content", {{{"type", "text"}, {"text", "no such city"}}}}, {"isError", true}});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->is_error);
  EXPECT_EQ(result->text, "no such city");
}

TEST(ToolResult, IsCutBetweenCharacters) {
  std::string text = "x";
  while (text.size() < 300'000) text += "ä";
  const std::string got = text_of({{"content", {{{"type", "text"}, {"text", text}}}}});
  EXPECT_EQ(got, text.substr(0, 262'143) + "\n[cut here: the result has 300001 bytes]");
}

TEST(ToolResult, ThatWantsInputIsNone) {
  const auto result = read_tool_result({{"resultType", "input_required"}, {"inputRequests", Json::object()}});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->is_error);
  EXPECT_FALSE(read_tool_result({{"resultType", "of later"}, {"content", Json::array()}}).ok());
  EXPECT_TRUE(read_tool_result({{"resultType", "complete"}, {"content", Json::array()}}).ok());
}

TEST(ToolResult, MustBeOne) {
  for (const Json& wrong : {Json(), Json(1), Json{{"content", "text"}}}) EXPECT_FALSE(read_tool_result(wrong).ok());
}

}  // namespace
}  // namespace realizar::mcp
