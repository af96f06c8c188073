#include "text/output/argument_types.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace realizar::text {
namespace {

const auto kParameters = nlohmann::ordered_json::parse(R"({"type": "object", "properties": {
  "s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"},
  "a": {"type": "array"}, "o": {"type": "object"}, "sn": {"type": ["string", "null"]}, "any": {},
  "si": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "e": {"enum": ["1", "2"]}, "null_s": {"type": "string", "nullable": true},
  "odd": 5, "odd_type": {"type": 7}, "loose": {"anyOf": [{"type": "string"}, {}]}}})");

TEST(ArgumentTypes, TextFollowsTheSchema) {
  const auto typed = [](const char* key, const char* text) { return typed_argument(kParameters, key, text); };
  EXPECT_EQ(typed("s", "5"), "\"5\"");
  EXPECT_EQ(typed("s", "a\"\n"), R"("a\"\n")");
  EXPECT_EQ(typed("e", "1"), "\"1\"");
  EXPECT_EQ(typed("i", "5"), "5");
  EXPECT_EQ(typed("i", " 5\n"), "5");
  EXPECT_EQ(typed("n", "5.5"), "5.5");
  EXPECT_EQ(typed("b", "True"), "true");
  EXPECT_EQ(typed("b", "false"), "false");
  EXPECT_EQ(typed("a", "[1, 2]"), "[1, 2]");
  EXPECT_EQ(typed("o", "{\"k\": \"v\"}"), "{\"k\": \"v\"}");
  EXPECT_EQ(typed("sn", "null"), "null");
  EXPECT_EQ(typed("sn", "5"), "\"5\"");
  EXPECT_EQ(typed("null_s", "None"), "null");
  EXPECT_EQ(typed("si", "5"), "5");
  EXPECT_EQ(typed("si", "5.5"), "\"5.5\"");
  EXPECT_EQ(typed("any", "[1]"), "[1]");
  EXPECT_EQ(typed("any", "free text"), "\"free text\"");
  EXPECT_EQ(typed("loose", "5"), "5");
  EXPECT_EQ(typed("not_there", "5"), "5");
}

TEST(ArgumentTypes, WhereNoStringMayStandSpellingsAreLoose) {
  const auto typed = [](const char* key, const char* text) { return typed_argument(kParameters, key, text); };
  EXPECT_EQ(typed("i", "007"), "7");
  EXPECT_EQ(typed("i", "-012"), "-12");
  EXPECT_EQ(typed("i", "00"), "0");
  EXPECT_EQ(typed("n", "+0.5"), "0.5");
  EXPECT_EQ(typed("i", "NULL"), "null");
  EXPECT_EQ(typed("b", "FALSE"), "false");
  EXPECT_EQ(typed("b", "yes"), "true");
  EXPECT_EQ(typed("b", "0"), "false");
  EXPECT_EQ(typed("o", "{'k': [None, True, \"x\"]}"), R"({"k": [null, true, "x"]})");
  EXPECT_EQ(typed("a", "['x', 1]"), R"(["x", 1])");
  EXPECT_EQ(typed("s", "007"), "\"007\"");
  EXPECT_EQ(typed("any", "yes"), "\"yes\"");
}

TEST(ArgumentTypes, WhatFitsNoTypeIsKept) {
  EXPECT_EQ(typed_argument(kParameters, "i", "five"), "\"five\"");
  EXPECT_EQ(typed_argument(kParameters, "i", "[5]"), "[5]");
  EXPECT_EQ(typed_argument(kParameters, "a", "[1,"), "\"[1,\"");
  EXPECT_EQ(typed_argument(kParameters, "odd", "5"), "5");
  EXPECT_EQ(typed_argument(kParameters, "odd_type", "5"), "5");
  EXPECT_EQ(typed_argument({}, "i", "5"), "5");
  EXPECT_EQ(typed_argument("nonsense", "i", ""), "\"\"");
}

TEST(ArgumentTypes, OnlyStringsAreStringOnly) {
  EXPECT_TRUE(is_string_only(kParameters, "s"));
  EXPECT_TRUE(is_string_only(kParameters, "e"));
  for (const char* key : {"i", "sn", "si", "any", "null_s", "odd", "odd_type", "loose", "not_there"})
    EXPECT_FALSE(is_string_only(kParameters, key)) << key;
}

}  // namespace
}  // namespace realizar::text
