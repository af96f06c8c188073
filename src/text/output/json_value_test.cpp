#include "text/output/json_value.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace realizar::text {
namespace {

// The reader's result for a cut-off `text`: valid JSON for any cut.
std::string closed(std::string_view text) {
  JsonValueReader reader;
  std::string json;
  for (char c : text) {
    const JsonValueReader::Step step = reader.push(c, json);
    if (step == JsonValueReader::Step::kEnd || step == JsonValueReader::Step::kEndBefore) return json;
    if (step == JsonValueReader::Step::kInvalid) break;
  }
  reader.close(json);
  return json;
}

TEST(JsonValueReader, ValidTextPassesUnchangedAndEndsWithItsValue) {
  for (const char* text : {R"({"a": [1, -2.5e+3, 0, 0.1E-7, true, false, null], "b" : { } , "c":[ ]})",
                           R"("x\"\\\/\b\f\n\r\t\u00e9\ud83d\ude42")", "[[],[[]],{\"\":{}}]", "\"\"", "null", "true"}) {
    JsonValueReader reader;
    std::string json;
    for (size_t i = 0; i < std::string_view(text).size(); ++i) {
      const bool last = i + 1 == std::string_view(text).size();
      EXPECT_EQ(reader.push(text[i], json), last ? JsonValueReader::Step::kEnd : JsonValueReader::Step::kTaken) << text;
    }
    EXPECT_EQ(json, text);
  }
}

TEST(JsonValueReader, EveryPrefixClosesToValidJson) {
  const std::string text =
      R"({"a\n": [1, -2.5e+3, {"b": true, "c\ud83d\ude42d": [null, "x\\"]}, false], "e": "\u00e9\ud83d", "z": -0.5})";
  for (size_t n = 0; n <= text.size(); ++n)
    EXPECT_TRUE(nlohmann::json::accept(closed(text.substr(0, n))))
        << text.substr(0, n) << " -> " << closed(text.substr(0, n));
  EXPECT_EQ(closed(R"({"a": [1, {"b": "x)"), R"({"a": [1, {"b": "x"}]})");
  EXPECT_EQ(closed(R"({"a": 1, )"), R"({"a": 1})");
  EXPECT_EQ(closed(R"({"a": 1, "b)"), R"({"a": 1, "b": null})");
  EXPECT_EQ(closed(R"({"a": tr)"), R"({"a": true})");
}

TEST(JsonValueReader, WhatModelsGetWrongInsideStringsIsPutRight) {
  EXPECT_EQ(closed("\"a\nb\tc\x01\""), R"("a\nb\tc\u0001")");
  EXPECT_EQ(closed(R"("it\'s \d \u12x")"), R"("it\\'s \\d \\u12x")");
  EXPECT_EQ(closed(R"("\ud83d" )"), R"("\ufffd")");
  EXPECT_EQ(closed(R"("\ud83d\ud83d\ude42\ude42x")"), R"("\ufffd\ud83d\ude42\ufffdx")");
  EXPECT_EQ(closed(R"("\ud83d\n")"), R"("\ufffd\n")");
  EXPECT_EQ(closed(R"({"a": [1, 2, ], })"), R"({"a": [1, 2]})");
}

TEST(JsonValueReader, AStringEndsInABrokenEscape) {
  std::string json;
  EXPECT_TRUE(read_json_value("\"a\\u12\"", json));
  EXPECT_EQ(json, R"("a\\u12")");
  EXPECT_TRUE(read_json_value("[\"\\ud83d\\ude4\", 1]", json));
  EXPECT_EQ(json, R"(["\ufffd\\ude4", 1])");
}

TEST(JsonValueReader, WhatIsNoJsonIsRefused) {
  for (const char* text : {"{a",  "{'",  "{\"a\" 1", "[1 2",     "[,", "{,", "01",  "1.", "-",    "1e",  "+1", "tru",
                           "\"a", "[1}", "{]",       "{\"a\":}", "",   "  ", "1 2", "x",  "{} x", "nul", "--1"}) {
    std::string json;
    EXPECT_FALSE(read_json_value(text, json)) << text;
  }
}

TEST(JsonValueReader, NestingIsBounded) {
  JsonValueReader reader;
  std::string json;
  for (size_t i = 0; i < JsonValueReader::kMaxDepth; ++i)
    ASSERT_EQ(reader.push('[', json), JsonValueReader::Step::kTaken);
  EXPECT_EQ(reader.push('[', json), JsonValueReader::Step::kInvalid);
  reader.close(json);
  EXPECT_TRUE(nlohmann::json::accept(json));
}

TEST(JsonValueReader, ReadsOneValueWithSpaceAround) {
  std::string json;
  EXPECT_TRUE(read_json_value(" -12.5 \n", json));
  EXPECT_EQ(json, "-12.5");
  EXPECT_TRUE(read_json_value("\n{\"a\": 1}\n", json));
  EXPECT_EQ(json, "{\"a\": 1}");
}

}  // namespace
}  // namespace realizar::text
