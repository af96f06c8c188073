#include "server/http/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

std::string error_of(const std::string& text) {
  const auto parsed = parse_json(text);
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(ParseJson, KeepsTheOrderOfMembers) {
  const auto parsed = parse_json(R"({"b": 1, "a": [true, null, 2.5, "ä"]})");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(dump(*parsed), R"({"b":1,"a":[true,null,2.5,"ä"]})");
}

TEST(ParseJson, SaysWhereTextIsNotJson) {
  EXPECT_EQ(error_of(R"({"a" 1})"), "the body is not JSON, at byte 6 of 7");
  for (const char* text : {"", " ", "{", "[1,]", "{'a': 1}", "nul", "1 2", "\"\n\"", "{\"a\":1}}"}) {
    EXPECT_NE(error_of(text).find("not JSON"), std::string::npos) << text;
  }
}

TEST(ParseJson, RefusesBytesThatAreNotUtf8) {
  for (const char* text : {"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\""}) {
    EXPECT_NE(error_of(text), "") << text;
  }
}

TEST(ParseJson, RefusesNumbersThatNoDoubleHolds) {
  EXPECT_NE(error_of("1e999"), "");
}

TEST(ParseJson, TakesAHundredLevelsAndNoMore) {
  const auto nested = [](size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_EQ(error_of(nested(100)), "");
  EXPECT_EQ(error_of(nested(101)), "the body is nested deeper than 100 levels");
  EXPECT_EQ(error_of(std::string(10'000'000, '[')), "the body is nested deeper than 100 levels");
  EXPECT_EQ(error_of('"' + std::string(1000, '[') + '"'), "");
  EXPECT_EQ(error_of(R"(["\"[[", "\\"])"), "");
}

std::string members(size_t n) {
  std::string text = "{";
  for (size_t i = 0; i < n; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
  return text + "}";
}

TEST(ParseJson, BoundsTheComparisonsOfNames) {
  EXPECT_EQ(error_of(members(9'000)), "");
  EXPECT_EQ(error_of(members(11'000)), "the body's objects have too many members");
  std::string list = "[";
  for (int i = 0; i < 1000; ++i) list += (i > 0 ? "," : "") + members(100);
  EXPECT_EQ(error_of(list + "]"), "");
  EXPECT_EQ(error_of('"' + std::string(100'000, ':') + '"'), "");
}

std::string repeated(const std::string& begin, const char* value, size_t n, const std::string& end) {
  std::string text = begin;
  for (size_t i = 0; i < n; ++i) text += std::string(i > 0 ? "," : "") + value;
  return text + end;
}

TEST(ParseJson, BoundsItsValues) {
  for (const char* value : {"{}", "\"\"", "1", "{\"a\":[0]}"}) {
    EXPECT_EQ(error_of(repeated("[", value, 60'000, "]")), "") << value;
    EXPECT_EQ(error_of(repeated("[", value, 200'000, "]")), "the body has more than 200000 values") << value;
  }
}

TEST(ParseJson, BoundsListsOfIdsByTheirOwnLimit) {
  const IdLimits limits{300'000, 400'000};
  const auto error_with = [&](const std::string& text) {
    const auto parsed = parse_json(text, limits);
    return parsed.ok() ? "" : parsed.error().message;
  };
  for (const char* begin : {R"({"prompt":[)", R"({"input":[)", R"({"tokens":[)"}) {
    EXPECT_EQ(error_with(repeated(begin, "1", 300'000, "]}")), "") << begin;
  }
  EXPECT_EQ(error_with(repeated(R"({"prompt":[[1],[)", "1", 300'000, "],[2]]}")), "");
  const auto parsed = parse_json(repeated(R"({"prompt":[)", "1", 300'001, "]}"), limits);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, ErrorCode::kContextLengthExceeded);
  EXPECT_EQ(parsed.error().message, "prompt: a list has more than 300000 token ids");
  EXPECT_EQ(parsed.error().n_ctx, 300'000u);
  EXPECT_EQ(parsed.error().n_prompt, 300'001u);
  EXPECT_EQ(parsed.error().subject, "prompt");
  const auto second = parse_json(repeated(R"({"input":[[1],[)", "1", 300'500, "],[2]]}"), limits);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().subject, "input[1]");
  EXPECT_EQ(second.error().n_prompt, 300'500u);
  EXPECT_EQ(error_with(repeated(R"({"tokens":[)", "1", 400'001, "]}")),
            "tokens: a list has more than 400000 token ids");
  // Values that are not ids, and values in other places, count as values.
  for (const char* begin : {R"({"prompt":[)", R"({"other":[)"}) {
    const char* value = begin[2] == 'p' ? "1.5" : "1";
    EXPECT_EQ(error_with(repeated(begin, value, 200'001, "]}")), "the body has more than 200000 values") << begin;
  }
}

TEST(OfItem, NamesTheItemOnce) {
  const Error named = of_item(wrong("prompt", "expected text"), "prompt", 3);
  EXPECT_EQ(named.message, "prompt[3]: expected text");
  EXPECT_EQ(named.subject, "prompt[3]");
  const Error counted = of_item(context_length_exceeded("too long", "prompt", 9, 8), "prompt", 0);
  EXPECT_EQ(counted.message, "prompt[0]: too long");
  EXPECT_EQ(counted.n_prompt, 9u);
}

TEST(ParseJson, TheLastOfEqualMembersCounts) {
  EXPECT_EQ(dump(*parse_json(R"({"a":[1],"b":{"c":1},"a":{"d":2},"b":3})")), R"({"a":{"d":2},"b":3})");
}

TEST(PeekModelName, FindsTheMemberOfTheOutermostObject) {
  const auto name = [](std::string text) {
    const auto read = peek_model_name(text);
    return read.ok() ? *read : read.error().message;
  };
  EXPECT_EQ(name(R"({"a":{"model":"no"},"model":"yes","b":[{"model":1}]})"), "yes");
  EXPECT_EQ(name(R"({"model":"first","model":"last"})"), "last");
  EXPECT_EQ(name(R"({"model":["first"],"model":"last"})"), "last");
  EXPECT_EQ(name(R"({"model":"first","model":null})"), "");
  EXPECT_EQ(name(R"({"mod\u0065l":"\u0061\/b"})"), "a/b");
  EXPECT_EQ(name(R"({"model":null})"), "");
  EXPECT_EQ(name("{}"), "");
  EXPECT_EQ(name(R"({"model":7})"), "model: expected a string, actual number");
  EXPECT_EQ(name(R"({"model":true})"), "model: expected a string, actual boolean");
  EXPECT_EQ(name(R"({"model":{}})"), "model: expected a string, actual object");
  EXPECT_EQ(name(R"({"model":[]})"), "model: expected a string, actual array");
  EXPECT_EQ(name("\xef\xbb\xbf{\"model\":\"after a mark of the byte order\"}"), "after a mark of the byte order");
  for (const char* text : {"[]", "1", "null", "\"x\"", "true", "[{\"model\":\"a\"}]"}) {
    EXPECT_EQ(name(text), "") << text;
  }
}

TEST(PeekModelName, LeavesWhatCannotBeReadToTheParser) {
  for (std::string text : {"", " ", "{", "{\"model\"", "{\"model\":", "{\"model\":\"a", "{\"model\":\"\\ud800\"}",
                           "{\"model\":\"\xff\"}", "{\"a\":}", "{\"a\" 1}"}) {
    const std::string as_it_was = text;
    EXPECT_TRUE(peek_model_name(text).ok()) << as_it_was;
    EXPECT_EQ(text, as_it_was);
    EXPECT_FALSE(parse_json(text).ok()) << as_it_was;
  }
  std::string deep(1000, '[');
  EXPECT_EQ(*peek_model_name(deep), "");
}

TEST(Dump, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(dump(Json("a\xff")), "\"a\uFFFD\"");
}

TEST(Decimal, PrintsAsShortlyAsTheFloatDoes) {
  EXPECT_EQ(dump(Json(decimal(0.8f))), "0.8");
  EXPECT_EQ(dump(Json(decimal(-1.5913142f))), "-1.5913142");
  EXPECT_EQ(decimal(INFINITY), INFINITY);
}

TEST(TokenIdOf, TakesWholeNumbersOf31Bits) {
  EXPECT_EQ(token_id_of(0), 0);
  EXPECT_EQ(token_id_of(INT32_MAX), INT32_MAX);
  for (const char* text :
       {"-1", "2147483648", "4294967296", "18446744073709551615", "1.0", "1.5", "\"1\"", "null", "[1]"}) {
    EXPECT_EQ(token_id_of(*parse_json(text)), std::nullopt) << text;
  }
}

class FieldsTest : public ::testing::Test {
 protected:
  Json json_ =
      *parse_json(R"({"text": "x", "yes": true, "half": 0.5, "seven": 7, "minus": -7, "float": 7.0, "null": null,
                               "list": [1], "object": {}, "big": 9223372036854775807, "huge": 9223372036854775808,
                               "most": 18446744073709551615, "exact": -9007199254740993})");
  Fields fields_{json_, "at[2]."};

  void expect_failed(const char* name) {
    ASSERT_FALSE(fields_.status().ok()) << name;
    EXPECT_EQ(fields_.status().error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(fields_.status().error().subject, std::string("at[2].") + name);
    EXPECT_EQ(fields_.status().error().message.rfind(std::string("at[2].") + name + ": expected", 0), 0u)
        << fields_.status().error().message;
  }
};

TEST_F(FieldsTest, ReadsWhatIsThere) {
  EXPECT_EQ(fields_.text("text"), "x");
  EXPECT_EQ(fields_.boolean("yes"), true);
  EXPECT_EQ(fields_.number("half"), 0.5);
  EXPECT_EQ(fields_.integer("seven", 0, 7), 7);
  EXPECT_EQ(fields_.integer("minus", -7, 0), -7);
  EXPECT_EQ(fields_.integer("float", 0, 10), 7);
  EXPECT_EQ(fields_.integer("big", INT64_MIN, INT64_MAX), INT64_MAX);
  EXPECT_EQ(fields_.integer("exact", INT64_MIN, INT64_MAX), -9007199254740993);
  ASSERT_NE(fields_.array("list"), nullptr);
  ASSERT_NE(fields_.object("object"), nullptr);
  EXPECT_TRUE(fields_.status().ok());
}

TEST_F(FieldsTest, AbsentAndNullAreNothing) {
  for (const char* name : {"absent", "null"}) {
    EXPECT_EQ(fields_.text(name), std::nullopt);
    EXPECT_EQ(fields_.boolean(name), std::nullopt);
    EXPECT_EQ(fields_.number(name), std::nullopt);
    EXPECT_EQ(fields_.integer(name, 0, 1), std::nullopt);
    EXPECT_EQ(fields_.array(name), nullptr);
    EXPECT_EQ(fields_.object(name), nullptr);
    EXPECT_EQ(fields_.any(name), nullptr);
  }
  EXPECT_TRUE(fields_.status().ok());
}

TEST_F(FieldsTest, TextOfAnotherTypeFails) {
  EXPECT_EQ(fields_.text("seven"), std::nullopt);
  expect_failed("seven");
}
TEST_F(FieldsTest, BooleanOfAnotherTypeFails) {
  EXPECT_EQ(fields_.boolean("seven"), std::nullopt);
  expect_failed("seven");
}
TEST_F(FieldsTest, NumberOfAnotherTypeFails) {
  EXPECT_EQ(fields_.number("text"), std::nullopt);
  expect_failed("text");
}
TEST_F(FieldsTest, IntegerOfAnotherTypeFails) {
  EXPECT_EQ(fields_.integer("yes", 0, 1), std::nullopt);
  expect_failed("yes");
}
TEST_F(FieldsTest, IntegerWithAFractionFails) {
  EXPECT_EQ(fields_.integer("half", 0, 1), std::nullopt);
  expect_failed("half");
}
TEST_F(FieldsTest, IntegerOutOfRangeFails) {
  EXPECT_EQ(fields_.integer("seven", 8, 9), std::nullopt);
  expect_failed("seven");
}
TEST_F(FieldsTest, IntegerBeyond64BitsFails) {
  EXPECT_EQ(fields_.integer("huge", INT64_MIN, INT64_MAX), std::nullopt);
  expect_failed("huge");
  EXPECT_EQ(Fields(json_).integer("most", INT64_MIN, INT64_MAX), std::nullopt);
}
TEST_F(FieldsTest, ArrayOfAnotherTypeFails) {
  EXPECT_EQ(fields_.array("object"), nullptr);
  expect_failed("object");
}
TEST_F(FieldsTest, ObjectOfAnotherTypeFails) {
  EXPECT_EQ(fields_.object("list"), nullptr);
  expect_failed("list");
}

TEST_F(FieldsTest, TheFirstMistakeIsKept) {
  fields_.text("seven");
  fields_.boolean("text");
  expect_failed("seven");
}

}  // namespace
}  // namespace realizar::server
