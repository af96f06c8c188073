#include "base/plain_json.h"

#include <gtest/gtest.h>

#include <string>

namespace realizar {
namespace {

const std::string kLargest = "1.7976931348623157e308";

TEST(PlainJson, LeavesWhatEveryParserTakes) {
  for (const char* text :
       {"", "{}", "{\"a\": [1, -2, 0.5, -0.0, 1e-3, true, null]}", "[18446744073709551615]", "[-9223372036854775808]",
        "[0, -0]", "\"a\\\"Infinity NaN 1.0 \\\\\"", "[\"\\ud83d\\ude00\"]", "{\r\n\"a\":\t1\r\n}"}) {
    EXPECT_EQ(plain_json(text), text);
  }
}

TEST(PlainJson, AMarkOfTheByteOrderIsNoPartOfTheText) {
  EXPECT_EQ(plain_json("\xef\xbb\xbf{}"), "{}");
  EXPECT_EQ(plain_json("\xef\xbb\xbf"), "");
}

TEST(PlainJson, IntegersBeyond64BitsBecomeDoubles) {
  EXPECT_EQ(plain_json("[1000000000000000019884624838656]"), "[1000000000000000019884624838656.0]");
  EXPECT_EQ(plain_json("[18446744073709551616, -9223372036854775809]"),
            "[18446744073709551616.0, -9223372036854775809.0]");
  EXPECT_EQ(plain_json(std::string(400, '9')), kLargest);
  EXPECT_EQ(plain_json("-" + std::string(400, '9')), "-" + kLargest);
}

TEST(PlainJson, WholeNumbersBecomeIntegers) {
  EXPECT_EQ(plain_json("{\"a\":256.0,\"b\":-3.00,\"c\":1e6,\"d\":2.5E+1,\"e\":1e-0}"),
            "{\"a\":256,\"b\":-3,\"c\":1000000,\"d\":25,\"e\":1}");
  EXPECT_EQ(plain_json("[0.0, 9007199254740992.0, 1e300]"), "[0, 9007199254740992, 1e300]");
}

TEST(PlainJson, InfinityIsTheLargestNumberAndNanIsNull) {
  EXPECT_EQ(plain_json("[Infinity,-Infinity,NaN]"), "[" + kLargest + ",-" + kLargest + ",null]");
  EXPECT_EQ(plain_json("[1e309, -1e309, 1e99999999999, 0.1e400]"),
            "[" + kLargest + ", -" + kLargest + ", " + kLargest + ", " + kLargest + "]");
}

TEST(PlainJson, NumbersTooSmallForADoubleStay) {
  const std::string tiny = "0." + std::string(500, '0') + "1";
  for (const std::string& text : {std::string("1e-400"), std::string("1e-99999999999"), tiny}) {
    EXPECT_EQ(plain_json(text), text);
  }
}

TEST(PlainJson, HalfASurrogatePairBecomesTheReplacementCharacter) {
  EXPECT_EQ(plain_json("[\"\\ud83d\", \"\\ude00x\", \"\\ud83d\\u0041\", \"\\uD83D\\uD83D\\uDE00\"]"),
            "[\"\\ufffd\", \"\\ufffdx\", \"\\ufffd\\u0041\", \"\\ufffd\\uD83D\\uDE00\"]");
}

// The parser refuses it with its own message.
TEST(PlainJson, WhatIsNoJsonStaysAsItIs) {
  for (const char* text : {"[01.0]", "[1.]", "[.5]", "[1e]", "[+1]", "[--1.0]", "[1.0.0]", "Inf", "NaX", "\"abc",
                           "\"\\", "\"\\u", "\"\\ud83", "-", "I", "N", "{'a': 1}"}) {
    EXPECT_EQ(plain_json(text), text);
  }
}

}  // namespace
}  // namespace realizar
