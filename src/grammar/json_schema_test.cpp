#include "grammar/json_schema.h"

#include "base/result_checks.h"
#include "grammar/schema/keywords.h"
#include "grammar/test_support.h"

namespace realizar::grammar {
namespace {

TEST(JsonSchema, ReadsTypes) {
  expect_sentences({
      {R"({"type": "null"})", {"null"}, {"", "nul", "0", "nulll"}},
      {R"({"type": "boolean"})", {"true", "false"}, {"True", "0", "null"}},
      {R"({"type": "integer"})", {"0", "7", "-12", "1234567890123"}, {"01", "-", "1.5", "1e3", "+1", "-0", "-01", ""}},
      {R"({"type": "number"})",
       {"0", "-0.5", "1e5", "1.25E-10", "12.0", "-0"},
       {".5", "1.", "01", "1e", "--1", "1e+", "NaN"}},
      {R"({"type": ["string", "null"]})", {"\"a\"", "null"}, {"1", "a"}},
      {R"({"type": ["integer", "number"]})", {"1", "1.5"}, {"\"1\""}},
      {"true", {"1", "{\"a\": [1, {}]}", "\"x\""}, {"", "{a: 1}"}},
      {"{}", {"1", "[]", "null"}, {"[1,]", "{,}"}},
      {R"({"title": "t", "description": "d", "$schema": "s", "$id": "i", "default": 1, "x-order": 2,
           "discriminator": {"propertyName": "kind"}})",
       {"[1]"},
       {"["}},
  });
}

TEST(JsonSchema, ReadsStrings) {
  expect_sentences({
      {R"({"type": "string"})",
       {R"("")", R"("abc")", R"("a\"b\\\/\b\f\n\r\t")", R"("\u00e9\uABCD")", R"("\ud83d\ude00")",
        "\"\xC3\xA9\xF0\x9F\x98\x80\x7F\""},
       {"\"", "\"a", "a", R"("\x")", R"("\u12")", R"("\ud83d")", R"("\ud83dx")", R"("\ude00")", R"("\ud83d\u0041")",
        "\"\n\"", "\"\x01\"", "\"\xFF\"", "\"\xED\xA0\x80\"", "\"a\"\""}},
      {R"({"type": "string", "minLength": 2, "maxLength": 3})",
       {R"("ab")", R"("abc")", "\"\xC3\xA9\xF0\x9F\x98\x80\"", R"("\n\u00e9\ud83d\ude00")"},
       {R"("a")", R"("abcd")", R"("\n")", R"("\ud83d\ude00")"}},
      {R"({"type": "string", "maxLength": 0})", {R"("")"}, {R"("a")"}},
      {R"({"type": "string", "minLength": 200})",
       {"\"" + std::string(200, 'a') + "\"", "\"" + std::string(300, 'a') + "\""},
       {"\"" + std::string(199, 'a') + "\""}},
      {R"({"type": "string", "maxLength": 2000})",
       {"\"" + std::string(2000, 'a') + "\""},
       {"\"" + std::string(2001, 'a') + "\""}},
  });
}

TEST(JsonSchema, ReadsPatterns) {
  expect_sentences({
      {R"({"type": "string", "pattern": "^[a-z]+$"})", {R"("a")", R"("xyz")"}, {R"("")", R"("A")", R"("a1")"}},
      {R"({"type": "string", "pattern": "b+"})", {R"("b")", R"("abba")", R"("\u00e9b\n")"}, {R"("")", R"("ac")"}},
      {R"({"type": "string", "pattern": "^a|b$"})", {R"("ax")", R"("xb")"}, {R"("xax")", R"("bx")"}},
      {R"({"type": "string", "pattern": "^(?:\\d{3}-)?\\w+\\s.$"})",
       {R"("123-a_Z x")", R"("a\t\"")"},
       {R"("12-a x")", R"("a x\n")"}},
      {R"({"type": "string", "pattern": "^[^a-c\"]{2}$"})",
       {R"("xy")", R"("\\d")", R"("\n\n")"},
       {R"("ax")", R"("\"x")"}},
      {R"({"type": "string", "pattern": "^(a|bc){2,3}?$"})",
       {R"("aa")", R"("abca")"},
       {R"("a")", R"("aaaa")", R"("b")"}},
      {R"({"type": "string", "pattern": "^\\u00e9\\x41\\.\\/\\u{1F600}\\ud83d\\ude00$"})",
       {"\"\xC3\xA9"
        "A./\xF0\x9F\x98\x80\xF0\x9F\x98\x80\""},
       {R"("eA./")"}},
      {R"({"type": "string", "pattern": "^(?<year>[0-9]{4})$", "minLength": 4, "maxLength": 9})",
       {R"("2024")"},
       {R"("24")"}},
      {R"({"type": "string", "pattern": "^[a-z]*$", "minLength": 1, "maxLength": 3})",
       {R"("a")", R"("abc")"},
       {R"("")", R"("abcd")"}},
      {R"({"type": "string", "pattern": "^$"})", {R"("")"}, {R"("a")"}},
      {R"({"type": "string", "pattern": ""})", {R"("")", R"("a")"}, {"1"}},
      {R"({"type": "string", "pattern": "^[\\d\\-x]$"})", {R"("5")", R"("-")", R"("x")"}, {R"("y")"}},
  });
}

TEST(JsonSchema, ReadsFormats) {
  expect_sentences({
      {R"({"type": "string", "format": "date"})",
       {R"("2024-02-29")", R"("2000-02-29")", R"("2023-12-31")", R"("1999-04-30")"},
       {R"("2023-02-29")", R"("1900-02-29")", R"("2023-04-31")", R"("2023-13-01")", R"("2023-00-10")",
        R"("2023-1-1")"}},
      {R"({"type": "string", "format": "time"})",
       {R"("23:59:59Z")", R"("00:00:00.5+02:00")", R"("12:00:00.0000000000z")", R"("23:59:60Z")",
        R"("23:59:60.25+00:00")"},
       {R"("24:00:00Z")", R"("12:60:00Z")", R"("12:00:00")", R"("12:00:00.Z")", R"("22:59:60Z")",
        R"("12:00:00+24:00")"}},
      {R"({"type": "string", "format": "date-time"})",
       {R"("2024-02-29T12:00:00Z")", R"("2024-02-29t12:00:00.123456-05:30")", R"("0001-01-01T00:00:00Z")"},
       {R"("2024-02-29 12:00:00Z")", R"("2024-02-29")", R"("0000-01-01T00:00:00Z")"}},
      {R"({"type": "string", "format": "email"})",
       {R"("a.b+c@example.com")", R"("a^b@x-y.z")", R"("root@localhost")", R"("a.b.c.d@example.com")",
        R"("abcdefghijklmnopqrstuvwxyz0123456789@example.com")", R"("x@[127.0.0.1]")", R"("x@[IPv6:::1]")"},
       {R"("a")", R"("a@")", R"("a@-b.c")", R"(".a@b.c")", R"("a.@b.c")", R"("a..b@c.d")", R"("a@b@c")",
        "\"" + std::string(65, 'a') + "@b.c\""}},
      {R"({"type": "string", "format": "email", "maxLength": 254})",
       {R"("first.last@mail.example.com")"},
       {R"("a@" )", R"("@b")"}},
      {R"({"type": "string", "format": "uuid"})",
       {R"("123e4567-e89b-12d3-a456-426614174000")"},
       {R"("123e4567e89b12d3a456426614174000")"}},
      {R"({"type": "string", "format": "ipv4"})",
       {R"("0.0.0.0")", R"("255.249.199.9")"},
       {R"("256.0.0.1")", R"("1.2.3")", R"("01.2.3.4")"}},
      {R"({"type": "string", "format": "ipv6"})",
       {R"("::")", R"("::1")", R"("1::")", R"("2001:db8::1:0")", R"("1:2:3:4:5:6:7:8")", R"("1:2:3:4:5:6:7::")",
        R"("::ffff:192.168.0.1")", R"("1:2:3:4:5:6:1.2.3.4")", R"("1::5:1.2.3.4")", R"("1:2:3:4:5:6::8")"},
       {R"(":")", R"("1:2")", R"("1::2::3")", R"("12345::")", R"("1:2:3:4:5:6:7:8:9")", R"("1:2:3:4:5:6:7:1.2.3.4")",
        R"("1:2:3:4::5:6:7:8")", R"("::1.2.3")", R"("1.2.3.4::")"}},
      {R"({"type": "string", "format": "hostname"})",
       {R"("localhost")", R"("a-b.example.com")", "\"" + std::string(63, 'a') + ".us-east-1.elb.example.com\"",
        R"("a.b.c.d.e.f.g.h.i.j.k")"},
       {R"("-a")", R"("a-")", R"("a..b")", R"("")", R"("a.")", "\"" + std::string(64, 'a') + "\""}},
      {R"({"type": "string", "format": "uri", "minLength": 1, "maxLength": 4000})",
       {R"("https://example.com:8080/a/b?x=%20&y#z")", R"("mailto:a@b.c")", R"("file:/x")"},
       {R"("example.com")", R"("http://a b")", R"("http://a/%2")", R"("1http://a")"}},
      {R"({"type": "string", "format": "uri"})",
       {R"("http://localhost:11434")", R"("file:///etc/hosts")", R"("http://me:pw@example.com/")",
        R"("http://[::1]:80/")", R"("view-source-of-something+x.y:a")", R"("urn:isbn:0451450523")",
        R"("data:text/plain;base64,eA==")", R"("http://a_b.example/%7Ex/(1)?q=/?#/?")", R"("tel:+1-816-555-1212")",
        R"("http://1.2.3.4")"},
       {R"("//a")", R"("/a")", R"("")", R"(":a")", R"("http://a:x/")", R"("http://[::1/")", R"("a:b#c#d")",
        R"("a:\\b")", R"("http://a@b@c/")", R"("http://a/[b]")"}},
      {R"({"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083})",
       {R"("https://example.com/a%20b?c=d#e")", R"("http://localhost:11434")"},
       {R"("example.com")"}},
      {R"({"type": "string", "format": "uri", "minLength": 9, "maxLength": 40})",
       {R"("http://localhost:11434/api")"},
       {R"("http://a")", "\"http://" + std::string(40, 'a') + "\""}},
      {R"({"type": "string", "format": "my-own"})", {R"("anything")"}, {"1"}},
  });
}

TEST(JsonSchema, ReadsNumberBounds) {
  expect_sentences({
      {R"({"type": "integer", "minimum": 1.5, "maximum": 12})",
       {"2", "9", "10", "12"},
       {"1", "0", "13", "20", "-2", "02"}},
      {R"({"type": "integer", "exclusiveMinimum": -3, "exclusiveMaximum": 3})",
       {"-2", "-1", "0", "1", "2"},
       {"-3", "3", "-0"}},
      {R"({"type": "integer", "minimum": 100000000000000000000})", {"100000000000000000000"}, {"99999999999999999999"}},
      {R"({"type": "integer", "maximum": -7})", {"-7", "-8", "-100"}, {"-6", "7", "0"}},
      {R"({"type": "number", "minimum": 0, "maximum": 1})",
       {"0", "0.0", "0.5", "1", "1.0", "1.000"},
       {"1.01", "-0.1", "2", "-0", "1e0"}},
      {R"({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})",
       {"0.1", "0.001", "0.999"},
       {"0", "0.0", "0.000", "1", "1.0"}},
      {R"({"type": "number", "minimum": -1.25, "maximum": 2.5})",
       {"-1.25", "-1.250", "-1.2", "-1", "0", "2.5", "2.49", "2.50"},
       {"-1.251", "-1.3", "2.51", "2.6", "3"}},
      {R"({"type": "number", "minimum": 1.15, "maximum": 1.18})",
       {"1.15", "1.16", "1.175", "1.18", "1.180"},
       {"1.1", "1.2", "1.149", "1.181", "1"}},
      {R"({"type": "number", "exclusiveMinimum": 1.5, "maximum": 1.75})",
       {"1.51", "1.7500", "1.501"},
       {"1.5", "1.50", "1.751"}},
      {R"({"type": "number", "minimum": 9.5})", {"9.5", "10", "123456.5"}, {"9.4", "9", "-10"}},
      {R"({"type": "number", "minimum": 3, "exclusiveMinimum": 3})", {"3.1"}, {"3", "3.0"}},
      {R"({"type": "number", "maximum": 1e-2, "minimum": 0})", {"0.01", "0.005", "0"}, {"0.011"}},
  });
}

// Every integer near many pairs of bounds; every decimal with two places.
TEST(JsonSchema, KeepsBoundsExactly) {
  for (const auto& [low, high] : {std::pair{-12, 13}, {0, 0}, {-1, 1}, {7, 103}, {99, 1001}, {-205, -17}, {110, 119}}) {
    const std::string bounds = "\"minimum\": " + std::to_string(low) + ", \"maximum\": " + std::to_string(high) + "}";
    const auto integer = Grammar::from_json_schema("{\"type\": \"integer\", " + bounds);
    const auto number = Grammar::from_json_schema("{\"type\": \"number\", " + bounds);
    ASSERT_TRUE(integer.ok() && number.ok());
    for (int i = low - 120; i <= high + 120; ++i) {
      EXPECT_EQ(matches(*integer, std::to_string(i)), i >= low && i <= high) << i << " in " << bounds;
      EXPECT_EQ(matches(*number, std::to_string(i)), i >= low && i <= high) << i << " in " << bounds;
    }
  }
  const auto number =
      must(Grammar::from_json_schema(R"({"type": "number", "minimum": -0.35, "exclusiveMaximum": 1.07})"));
  for (int i = -200; i <= 200; ++i) {
    const int n = std::abs(i);
    const std::string digits = std::to_string(n % 100);
    const std::string text =
        (i < 0 ? "-" : "") + std::to_string(n / 100) + "." + std::string(2 - digits.size(), '0') + digits;
    EXPECT_EQ(matches(number, text), i >= -35 && i < 107) << text;
  }
}

TEST(JsonSchema, ReadsObjects) {
  expect_sentences({
      {R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {"type": "null"}}, "required": ["b"], "additionalProperties": false})",
       {R"({"b":true})", R"({"a": 1, "b": true, "c": null})", R"({"b": false, "c":null})",
        "{\n  \"a\": 1,\n  \"b\": true\n}", "{\n\t\"b\": true\n}", R"({ "b":true })"},
       {"{}", R"({"a": 1})", R"({"b": 1})", R"({"b": true, "a": 1})", R"({"b": true, "d": 1})", R"({"b": true,})",
        R"({"b": true "c": null})", R"({"b":  true})", R"({"b": true, "b": true})"}},
      {R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "additionalProperties": false})",
       {"{}", "{ }", "{\n}", R"({"a": 1})", R"({"b": 1})", R"({"a": 1, "b": 1})"},
       {R"({"b": 1, "a": 1})", R"({,"a": 1})", "{  }"}},
      {R"({"type": "object", "properties": {"ab": {"type": "integer"}, "a": {"type": "integer"}}})",
       {R"({"ab": 1, "a": 2, "x": "y"})", R"({"x": [1], "": 2})", R"({"abc": "x"})", R"({"b": "x", "ac": {}})", "{}"},
       {R"({"a": "x"})", R"({"ab": "x"})", R"({"\u0061": "x"})", R"({"x": 1, "a": 1})"}},
      {R"({"type": "object", "properties": {"a\"\n\u00e9": {"type": "integer"}}, "additionalProperties": {"type": "string"}})",
       {"{\"a\\\"\\n\xC3\xA9\": 1}", "{\"a\": \"x\", \"a\\\"\\n\xC3\xA8\": \"y\"}"},
       {"{\"a\\\"\\n\xC3\xA9\": \"x\"}", R"({"b": 1})"}},
      {R"({"type": "object", "additionalProperties": {"type": "integer"}})",
       {"{}", R"({"a": 1, "b": 2})"},
       {R"({"a": "x"})"}},
      {R"({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2})",
       {R"({"a": 1})", R"({"a": 1, "b": 2})"},
       {"{}", R"({"a": 1, "b": 2, "c": 3})"}},
      {R"({"type": "object", "additionalProperties": false})", {"{}", "{ }"}, {R"({"a": 1})"}},
      {R"({"type": "object", "required": ["z"], "properties": {"a": {"type": "integer"}}})",
       {R"({"z": 1})", R"({"a": 1, "z": "x"})"},
       {"{}", R"({"a": 1})"}},
      {R"({"type": "object", "properties": {"a": false, "b": {"type": "null"}}})",
       {R"({"b": null})", R"({"c": 1})"},
       {R"({"a": 1})"}},
      {R"({"properties": {"a": {"type": "integer"}}, "additionalProperties": false})",
       {R"({"a": 1})", "3", "[]"},
       {R"({"a": "x"})"}},
  });
}

TEST(JsonSchema, ReadsPatternProperties) {
  expect_sentences({
      {R"({"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false})",
       {"{}", R"({"x-a": 1, "x-": 2})"},
       {R"({"a": 1})", R"({"x-a": "s"})"}},
      {R"({"type": "object", "patternProperties": {"^x-": {"type": "integer"}}})",
       {R"({"a": "s", "x-a": 1, "b": null})"},
       {R"({"x-a": "s"})"}},
      {R"({"type": "object", "properties": {"a": {"type": "null"}}, "patternProperties": {"^x": {"type": "integer"}},
           "additionalProperties": false})",
       {"{}", R"({"a": null})", R"({"a": null, "x1": 2, "x": 3})"},
       {R"({"a": 1})", R"({"a": null, "b": 1})", R"({"x": null})"}},
      // A named property must satisfy every pattern that matches its name.
      {R"({"type": "object", "properties": {"xa": {"minimum": 1}, "b": {}}, "patternProperties": {"^x": {"type": "integer"}}})",
       {R"({"xa": 1, "b": "s"})"},
       {R"({"xa": "s"})", R"({"xa": 0})"}},
      {R"({"type": "object", "required": ["xa", "b"], "patternProperties": {"^x": {"type": "integer"}},
           "additionalProperties": {"type": "null"}})",
       {R"({"xa": 1, "b": null})", R"({"xa": 1, "b": null, "xb": 2, "c": null})"},
       {R"({"xa": null, "b": null})", R"({"xa": 1, "b": 1})", R"({"xa": 1})"}},
      {R"({"type": "object", "patternProperties": {"^x": {"type": "integer"}, "y$": {"maximum": 5}},
           "additionalProperties": {"type": "null"}})",
       {R"({"x": 9, "y": 5, "xy": 4, "z": null})", R"({"ay": "s"})"},
       {R"({"xy": 9})", R"({"xy": "s"})", R"({"ay": 9})", R"({"z": 1})"}},
      {R"({"type": "object", "patternProperties": {"^x": false}})", {R"({"a": 1})"}, {R"({"x": 1})"}},
      {R"({"type": "object", "patternProperties": {"^x": {}}, "propertyNames": {"maxLength": 2}})",
       {R"({"xy": 1, "a": 2})"},
       {R"({"xyz": 1})"}},
      {R"({"type": "object", "patternProperties": {"^x": {"type": "null"}}, "minProperties": 1, "maxProperties": 2,
           "additionalProperties": false})",
       {R"({"x": null})", R"({"x": null, "xx": null})"},
       {"{}", R"({"x": null, "xx": null, "xxx": null})"}},
      {R"({"type": "object", "patternProperties": {}, "additionalProperties": false})", {"{}"}, {R"({"a": 1})"}},
  });
}

// Each schema's patterns apply only to its own keys.
TEST(JsonSchema, CombinesPatternProperties) {
  expect_sentences({
      {R"({"allOf": [{"type": "object", "properties": {"a": {"type": "null"}}},
                     {"patternProperties": {"^x": {"type": "integer"}}}]})",
       {R"({"a": null, "x": 1, "b": "s"})"},
       {R"({"x": "s"})", R"({"a": 1})"}},
      {R"({"allOf": [{"type": "object", "properties": {"a.b": {}}, "additionalProperties": false},
                     {"patternProperties": {"^a": {"type": "integer"}}}]})",
       {R"({"a.b": 1})", "{}"},
       {R"({"a.b": "s"})", R"({"axb": 1})", R"({"a": 1})"}},
      {R"({"allOf": [{"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": false},
                     {"patternProperties": {"b$": {"maximum": 3}}, "additionalProperties": {"minimum": 5}}]})",
       {R"({"ab": 3, "a": 5})"},
       {R"({"ab": 4})", R"({"a": 4})", R"({"b": 1})", R"({"c": 5})"}},
  });
}

TEST(JsonSchema, CountsProperties) {
  expect_sentences({
      {R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {}}, "minProperties": 2,
           "additionalProperties": false})",
       {R"({"a": 1, "b": 2})", R"({"b": 1, "c": 2})", R"({"a": 1, "b": 2, "c": 3})", R"({ "a":1,"c":3})"},
       {"{}", R"({"a": 1})", R"({"c": 1})", R"({"b": 1, "a": 2})", R"({"a": "s", "b": 1})"}},
      {R"({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["b"], "maxProperties": 2,
           "additionalProperties": false})",
       {R"({"b": 1})", R"({"a": 1, "b": 2})", R"({"b": 1, "c": 2})"},
       {R"({"a": 1})", R"({"a": 1, "b": 2, "c": 3})", "{}"}},
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 1, "maxProperties": 1})",
       {R"({"a": 1})", R"({"b": 1})", R"({"c": 1})"},
       {"{}", R"({"a": 1, "b": 1})", R"({"a": 1, "c": 1})"}},
      // Only one other key counts, since a grammar cannot detect equal keys.
      {R"({"type": "object", "properties": {"a": {}}, "minProperties": 2})",
       {R"({"a": 1, "b": 1})", R"({"a": 1, "b": 1, "c": 1})"},
       {"{}", R"({"a": 1})", R"({"b": 1})"}},
      {R"({"type": "object", "properties": {"a": {}}, "minProperties": 1, "required": ["a"]})",
       {R"({"a": 1})"},
       {"{}"}},
  });
}

TEST(JsonSchema, CountsItemsThatItContains) {
  expect_sentences({
      {R"({"type": "array", "contains": {"const": 5}})", {"[5]", R"([1, "a", 5, 2])"}, {"[]", "[1]", "[[5]]"}},
      {R"({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}, "minContains": 2, "maxItems": 4})",
       {"[5,6]", "[1,5,1,6]", "[ 7, 8 ]"},
       {"[5]", "[1,2,5]", "[5,6,1,2,3]", R"([5,6,"a"])"}},
      {R"({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}, "maxContains": 1, "minItems": 2})",
       {"[1,5]", "[5,1,2,3]"},
       {"[5]", "[1,2]", "[5,6]", "[1,5,6]"}},
      {R"({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}, "contains": {"const": "a"}})",
       {R"(["a", 1])", R"(["a"])"},
       {R"(["b", 1])", "[]"}},
      {R"({"type": "array", "contains": {"const": 5}, "minContains": 0})", {"[]", "[1]"}, {"1"}},
      {R"({"type": "array", "contains": {"const": 5}, "minContains": 0, "maxContains": 1})",
       {"[]", "[5]", "[1,5]"},
       {"[5,5]"}},
      {R"({"type": "array", "minContains": 3, "maxContains": 1})", {"[]"}, {"1"}},
      {R"({"properties": {"a": {"type": "array", "contains": false}}})",
       {R"({"b": 1})"},
       {R"({"a": []})", R"({"a": [1]})"}},
      {R"({"allOf": [{"type": "array", "contains": {"const": 1}}, {"contains": {"const": 1}, "minContains": 2}]})",
       {"[1,2,1]"},
       {"[1]"}},
  });
}

// JSON Schema, section 6.5: an unknown keyword is an annotation.
TEST(JsonSchema, TakesUnknownKeywordsForAnnotations) {
  expect_sentences({
      {R"({"type": "integer", "markdownDescription": "m", "enumNames": ["a"], "errorMessage": {"type": "e"}, "xml": {},
           "externalDocs": {}, "propertyOrder": 3, "$anchor": "a", "id": "http://x/y", "self": {"vendor": "v"},
           "$vocabulary": {}, "const_": 1})",
       {"1"},
       {R"("a")"}},
      {R"({"oneOf": [{"$ref": "#/own/a"}, {"type": "null", "nonsense": 1}], "discriminator": {"propertyName": "k"},
           "own": {"a": {"type": "string"}}})",
       {R"("s")", "null"},
       {"1"}},
      {R"({"unevaluatedProperties": true, "unevaluatedItems": {}})", {"[1]"}, {"["}},
  });
}

TEST(JsonSchema, ReadsKeywordsOfEarlierDrafts) {
  expect_sentences({
      {R"({"type": "number", "minimum": 1, "exclusiveMinimum": true, "maximum": 3, "exclusiveMaximum": false})",
       {"1.5", "3"},
       {"1", "1.0", "3.5"}},
      {R"({"type": "integer", "exclusiveMinimum": true, "exclusiveMaximum": true, "maximum": 3})", {"2", "-7"}, {"3"}},
      {R"({"type": "object", "properties": {"a": {}, "b": {"type": "integer"}, "c": {}}, "additionalProperties": false,
           "dependencies": {"a": ["b"], "c": {"properties": {"b": {"minimum": 5}}}}})",
       {"{}", R"({"b": 1})", R"({"a": 1, "b": 1})", R"({"b": 5, "c": 1})", R"({"c": 1})"},
       {R"({"a": 1})", R"({"b": 1, "c": 1})"}},
      {R"({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": false,
           "dependencies": {"a": ["b"]}, "dependentRequired": {"a": ["c"]}})",
       {R"({"a": 1, "b": 1, "c": 1})", R"({"b": 1})"},
       {R"({"a": 1, "b": 1})", R"({"a": 1, "c": 1})"}},
  });
}

TEST(JsonSchema, ReadsArrays) {
  expect_sentences({
      {R"({"type": "array", "items": {"type": "integer"}})",
       {"[]", "[ ]", "[1]", "[1,2, 3]", "[\n  1,\n  2\n]"},
       {"[1,]", "[\"a\"]", "[1 2]", "[  1]", "["}},
      {R"({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3})",
       {"[1,2]", "[1, 2, 3]"},
       {"[]", "[1]", "[1,2,3,4]"}},
      {R"({"type": "array", "minItems": 1})", {"[1]", "[\"a\", {}]"}, {"[]"}},
      {R"({"type": "array", "maxItems": 0})", {"[]"}, {"[1]"}},
      {R"({"type": "array", "items": {"type": "null"}, "maxItems": 1})", {"[]", "[null]"}, {"[null,null]"}},
      {R"({"type": "array", "items": {"type": "integer"}, "minItems": 50, "maxItems": 400})", {}, {"[]", "[1,2]"}},
      {R"({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false})",
       {"[]", "[1]", "[1,\"a\"]"},
       {"[\"a\"]", "[1,\"a\",2]"}},
      {R"({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "null"}, "minItems": 2, "maxItems": 4})",
       {"[1,\"a\"]", "[1, \"a\", null]", "[1,\"a\",null,null]"},
       {"[1]", "[1,\"a\",1]", "[1,\"a\",null,null,null]"}},
      {R"({"type": "array", "prefixItems": [{"type": "integer"}], "minItems": 3})",
       {"[1,2,3]", "[1,\"a\",[],4]"},
       {"[1,2]", "[\"a\",2,3]"}},
      {R"({"type": "array", "prefixItems": [{"type": "integer"}, false]})", {"[]", "[1]"}, {"[1,2]"}},
      {R"({"type": "array", "items": false})", {"[]"}, {"[1]"}},
      {R"({"type": "array", "items": [{"type": "integer"}, {"type": "string"}], "additionalItems": false})",
       {"[]", "[1]", "[1,\"a\"]"},
       {"[\"a\"]", "[1,\"a\",2]"}},
      {R"({"type": "array", "items": [{"type": "integer"}], "additionalItems": {"type": "null"}, "minItems": 1})",
       {"[1]", "[1,null,null]"},
       {"[]", "[1,2]", "[null]"}},
      {R"({"type": "array", "items": [], "maxItems": 1})", {"[]", "[\"a\"]"}, {"[1,2]"}},
      {R"({"type": "array", "items": {"type": "integer"}, "additionalItems": false})", {"[1,2]"}, {"[\"a\"]"}},
      {R"({"type": "array", "uniqueItems": false})", {"[1,1]"}, {"1"}},
  });
}

TEST(JsonSchema, ReadsListedValues) {
  expect_sentences({
      {R"({"enum": ["red", 1, null, true, [1, "x"], {"a": 1}, {}]})",
       {R"("red")", "1", "null", "true", R"([1, "x"])", R"([1,"x"])", R"({"a": 1})", "{}"},
       {R"("blue")", "2", "[1]", R"("1")"}},
      {R"({"const": "a\"\\\nb"})", {R"("a\"\\\nb")"}, {R"("a")"}},
      {R"({"type": "string", "enum": ["a", 1, "abc"], "minLength": 2})", {R"("abc")"}, {R"("a")", "1"}},
      {R"({"type": "integer", "enum": [1, 2.5, 9], "maximum": 5})", {"1"}, {"2.5", "9"}},
      {R"({"enum": [1, 2], "const": 2})", {"2"}, {"1"}},
  });
}

TEST(JsonSchema, CombinesSchemas) {
  expect_sentences({
      {R"({"anyOf": [{"type": "integer"}, {"type": "string"}]})", {"1", R"("a")"}, {"null"}},
      {R"({"oneOf": [{"const": "a"}, {"const": "b"}, false]})", {R"("a")", R"("b")"}, {R"("c")"}},
      {R"({"type": "object", "properties": {"k": {"type": "string"}}, "additionalProperties": false, "anyOf": [{"required": ["k"]}, {"maxProperties": 1}]})",
       {R"({"k": "v"})", "{}"},
       {R"({"k": 1})"}},
      {R"({"type": "integer", "minimum": 0, "anyOf": [{"maximum": 3}, {"minimum": 8, "maximum": 9}]})",
       {"0", "3", "8"},
       {"4", "-1", "10"}},
      {R"({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"b": {"type": "null"}, "a": {"maximum": 5}}, "required": ["b"]}], "additionalProperties": true})",
       {R"({"a": 1, "b": null})"},
       {R"({"a": 6, "b": null})", R"({"a": 1})", R"({"b": null})"}},
      {R"({"allOf": [{"type": ["string", "integer"]}, {"type": ["number", "null"]}, {"enum": [1, 2, "a"]}, {"enum": [2, "a", 3]}]})",
       {"2"},
       {"1", R"("a")", "3"}},
      {R"({"allOf": [{"minLength": 2}, {"maxLength": 3}, {"type": "string", "minLength": 1}]})",
       {R"("ab")"},
       {R"("a")", R"("abcd")"}},
      {R"({"allOf": [{"anyOf": [{"minimum": 5}, {"maximum": 1}]}, {"anyOf": [{"multipleOf": 1}, {"const": 7}]}], "type": "integer"})",
       {"5", "0", "-3"},
       {"3"}},
      {R"({"allOf": [{"type": "array", "items": {"type": "integer"}}, {"prefixItems": [{"maximum": 3}], "maxItems": 2}]})",
       {"[3]", "[1,9]"},
       {"[4]", "[1,2,3]"}},
  });
}

TEST(JsonSchema, FollowsReferences) {
  expect_sentences({
      {R"({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}})", {"1"}, {"\"a\""}},
      {R"({"type": "object", "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["v", "next"], "additionalProperties": false})",
       {R"({"v": 1, "next": null})", R"({"v": 1, "next": {"v": 2, "next": null}})"},
       {R"({"v": 1})", R"({"v": 1, "next": {}})"}},
      {R"({"$ref": "#/definitions/tree", "definitions": {"tree": {"type": "array", "items": {"$ref": "#/definitions/tree"}}}})",
       {"[]", "[[],[[]]]"},
       {"[1]"}},
      {R"({"properties": {"a": {"allOf": [{"$ref": "#/$defs/x~1y%20z"}], "description": "d"}}, "required": ["a"], "type": "object", "$defs": {"x/y z": {"enum": [1]}}})",
       {R"({"a": 1})"},
       {R"({"a": 2})"}},
      {R"({"$ref": "#/$defs/p", "required": ["n"], "$defs": {"p": {"type": "object", "properties": {"n": {"type": "integer"}, "kid": {"$ref": "#/$defs/p", "required": ["n"]}}, "additionalProperties": false}}})",
       {R"({"n": 1})", R"({"n": 1, "kid": {"n": 2, "kid": {"n": 3}}})"},
       {"{}", R"({"n": 1, "kid": {}})"}},
  });
}

TEST(JsonSchema, FollowsNames) {
  expect_sentences({
      {R"({"items": {"$ref": "#node"}, "type": "array", "$defs": {"n": {"$anchor": "node", "type": "integer"}}})",
       {"[1]"},
       {R"(["a"])"}},
      {R"({"items": {"$ref": "#node"}, "type": "array", "definitions": {"n": {"id": "#node", "type": "integer"}}})",
       {"[1]"},
       {R"(["a"])"}},
      {R"({"items": {"$ref": "https://example.com/n"}, "type": "array",
           "$defs": {"n": {"$id": "https://example.com/n", "type": "integer"}}})",
       {"[1]"},
       {R"(["a"])"}},
  });
}

// An unsatisfiable schema contributes nothing, inline or referenced.
TEST(JsonSchema, LeavesOutWhatNothingSatisfies) {
  const std::string never = R"("$defs": {"x": {"type": "string", "minLength": 5, "maxLength": 2},
                                         "y": {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "required": ["x"]}}})";
  const std::string optional =
      R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"$ref": "#/$defs/x"}, "c": {"$ref": "#/$defs/y"}}, "additionalProperties": false, )" +
      never;
  const std::string items = R"({"type": "array", "items": {"$ref": "#/$defs/x"}, )" + never;
  const std::string choice = R"({"anyOf": [{"$ref": "#/$defs/y"}, {"type": "null"}], )" + never;
  const std::string counted =
      R"({"type": "object", "properties": {"a": {}, "b": {"$ref": "#/$defs/x"}, "c": {}}, "minProperties": 2, "additionalProperties": false, )" +
      never;
  expect_sentences({
      {optional.c_str(), {"{}", R"({"a": "s"})"}, {R"({"b": "s"})", R"({"c": {}})"}},
      {items.c_str(), {"[]"}, {R"(["s"])"}},
      {choice.c_str(), {"null"}, {"{}"}},
      {counted.c_str(), {R"({"a": 1, "c": 2})"}, {R"({"a": 1})", R"({"a": 1, "b": "s"})"}},
  });
  const std::string required =
      R"({"type": "object", "properties": {"c": {"$ref": "#/$defs/y"}}, "required": ["c"], )" + never;
  EXPECT_TRUE(fails_with(Grammar::from_json_schema(required), ErrorCode::kInvalidArgument, "", "#/$defs/x"));
}

TEST(JsonSchema, RefusesByName) {
  struct Case {
    const char* schema;
    ErrorCode code;
    const char* subject;
  };
  const auto no = ErrorCode::kUnsupported;
  const auto bad = ErrorCode::kInvalidArgument;
  const Case cases[] = {
      {R"({"not": {}})", bad, "#"},
      {R"({"not": {"items": {"type": "null"}}})", no, "#/not/items"},
      {R"({"not": {"const": {"a": 1}}})", no, "#/not/const"},
      {R"({"if": {"format": "date"}, "then": false})", no, "#/if/format"},
      {R"({"items": [1]})", bad, "#/items"},
      {R"({"items": [{}], "prefixItems": [{}]})", bad, "#/items"},
      {R"({"additionalItems": 1})", bad, "#/additionalItems"},
      {R"({"if": {"anyOf": [{"propertyNames": {}}]}, "then": {}})", no, "#/if/anyOf/propertyNames"},
      {R"({"dependentRequired": {"a": "b"}})", bad, "#/dependentRequired"},
      {R"({"properties": {"a/b": {"unevaluatedItems": false}}})", no, "#/properties/a~1b/unevaluatedItems"},
      {R"({"type": "array", "uniqueItems": true})", no, "#/uniqueItems"},
      {R"({"type": "array", "contains": {}, "minContains": 9000, "minItems": 9000})", no, "#/contains"},
      {R"({"type": "array", "contains": {"format": "date"}, "maxContains": 1})", no, "#/contains/not/format"},
      {R"({"type": "array", "contains": 1})", bad, "#/contains"},
      {R"({"dependencies": {"a": 1}})", bad, "#/dependencies"},
      {R"({"exclusiveMinimum": "1"})", bad, "#/exclusiveMinimum"},
      {R"({"anyOf": [{}, {"$dynamicRef": "#node"}]})", no, "#/anyOf/1/$dynamicRef"},
      {R"({"type": "object", "propertyNames": {"pattern": "\\bx"}})", no, "#/propertyNames/pattern"},
      {R"({"type": "object", "unevaluatedProperties": false})", no, "#/unevaluatedProperties"},
      {R"({"type": "number", "multipleOf": 0})", bad, "#/multipleOf"},
      {R"({"type": "number", "multipleOf": 2147483659})", no, "#/multipleOf"},
      {R"({"type": "object", "properties": {"a": {}}, "minProperties": 3})", no, "#/minProperties"},
      {R"({"type": "object", "properties": {"a": {}}, "patternProperties": {"\\bb": {}}})", no,
       "#/patternProperties/\\bb"},
      {R"x({"type": "string", "pattern": "(?<=a)b"})x", no, "#/pattern"},
      {R"x({"type": "string", "pattern": "((?=a)b?)*"})x", no, "#/pattern"},
      {R"x({"type": "string", "pattern": "((?=a)b){99}"})x", no, "#/pattern"},
      {R"x({"type": "string", "pattern": "(?=(a|b)*a(a|b){30}$)", "maxLength": 60})x", no, "#/pattern"},
      {R"({"type": "string", "pattern": "(a)\\1"})", no, "#/pattern"},
      {R"({"type": "string", "pattern": "\\bx"})", no, "#/pattern"},
      {R"({"type": "string", "pattern": "\\p{L}"})", no, "#/pattern"},
      {R"({"type": "string", "pattern": "a^b"})", bad, "#"},
      {R"({"type": "string", "pattern": "(a"})", bad, "#/pattern"},
      {R"({"type": "string", "pattern": "(?<a"})", bad, "#/pattern"},
      {R"x({"type": "string", "pattern": "a)"})x", bad, "#/pattern"},
      {R"({"type": "string", "pattern": "[z-a]"})", bad, "#/pattern"},
      {R"({"type": "string", "pattern": "*a"})", bad, "#/pattern"},
      {R"({"type": "string", "format": "date", "maxLength": 4})", bad, "#"},
      {R"({"enum": ["a"], "format": "date"})", no, "#/format"},
      {R"({"allOf": [{"format": "date"}, {"format": "time"}]})", no, "#/format"},
      {R"({"$ref": "other.json"})", no, "#/$ref"},
      {R"({"$ref": "#/$defs/x"})", bad, "#/$ref"},
      {R"({"type": "strin"})", bad, "#/type"},
      {R"({"minLength": -1})", bad, "#/minLength"},
      {R"({"minLength": 1.5})", bad, "#/minLength"},
      {R"({"properties": []})", bad, "#/properties"},
      {R"({"properties": {"a": 1}})", bad, "#/properties"},
      {R"({"required": "a"})", bad, "#/required"},
      {R"({"anyOf": []})", bad, "#/anyOf"},
      {R"({"enum": 1})", bad, "#/enum"},
      {R"({"maximum": "1"})", bad, "#/maximum"},
      {"[]", bad, "#"},
      {"{", bad, "#"},
      {"", bad, "#"},
      {"false", bad, "#"},
      {R"({"enum": []})", bad, "#"},
      {R"({"type": "integer", "minimum": 2, "maximum": 1})", bad, "#"},
      {R"({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2})", bad, "#"},
      {R"({"type": "string", "minLength": 2, "maxLength": 1})", bad, "#"},
      {R"({"type": "array", "minItems": 2, "maxItems": 1})", bad, "#"},
      {R"({"type": "object", "properties": {"a": false}, "required": ["a"]})", bad, "#"},
      {R"({"allOf": [{"type": "string"}, {"type": "null"}]})", bad, "#"},
  };
  for (const Case& test : cases) {
    const auto rules = compile_json_schema(test.schema);
    ASSERT_FALSE(rules.ok()) << test.schema;
    EXPECT_EQ(rules.error().code, test.code) << test.schema << ": " << rules.error().message;
    EXPECT_EQ(rules.error().subject, test.subject) << test.schema << ": " << rules.error().message;
  }
  for (const char* schema : {R"({"$ref": "#"})", R"({"anyOf": [{"$ref": "#"}, {"type": "null"}]})",
                             R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})",
                             R"({"allOf": [{"$ref": "#"}, {"type": "null"}]})"}) {
    const auto grammar = Grammar::from_json_schema(schema);
    ASSERT_FALSE(grammar.ok()) << schema;
    EXPECT_EQ(grammar.error().code, bad) << schema;
  }
}

// Errors mention the schema, not the rules generated from it.
TEST(JsonSchema, SpeaksOfTheSchemaThatWasWritten) {
  const Error endless = Grammar::from_json_schema(
                            R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "required": ["a"],
                                "$defs": {"b": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}]}}})")
                            .error();
  EXPECT_EQ(endless.subject, "#/$defs/b");
  EXPECT_EQ(endless.message, "#/$defs/b: no finite document satisfies this schema: it leads back to itself");
  EXPECT_EQ(Grammar::from_json_schema(R"({"$ref": "#"})").error().subject, "#");
  const Error digits =
      Grammar::from_json_schema(
          R"({"properties": {"x": {"type": "number", "minimum": -1.23456789e300, "maximum": 9.87654321e-300}}})")
          .error();
  EXPECT_EQ(digits.code, ErrorCode::kUnsupported);
  EXPECT_EQ(digits.subject, "#/properties/x");
  const Error large = Grammar::from_json_schema(R"({"type": "object"})", {.max_states = 10}).error();
  EXPECT_EQ(large.message, "the schema is too large: the grammar needs more than 10 states");
}

TEST(JsonSchema, TakesBoundsOfAnyDouble) {
  for (const char* schema :
       {R"({"type": "number", "maximum": 1.7976931348623157e308})",
        R"({"type": "number", "minimum": -1.7976931348623157e308})",
        R"({"type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807})"}) {
    must(Grammar::from_json_schema(schema), schema);
  }
}

TEST(JsonSchema, StopsAtItsLimits) {
  const auto code = [](const std::string& schema, const Limits& limits) {
    const auto grammar = Grammar::from_json_schema(schema, limits);
    return grammar.ok() ? ErrorCode::kInternal : grammar.error().code;
  };
  std::string deep = "{}";
  for (int i = 0; i < 500; ++i) deep.insert(0, "{\"items\":").append("}");
  EXPECT_EQ(code(deep, {}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(R"({"type": "object"})", {.max_source_bytes = 5}), ErrorCode::kInvalidArgument);
  // 2^40 alternatives if expanded
  std::string choices = "{\"type\": \"integer\"";
  for (int i = 0; i < 40; ++i)
    choices += std::string(i == 0 ? ", \"allOf\": [" : ",") + R"({"anyOf": [{"minimum": )" + std::to_string(i) +
               R"(}, {"maximum": )" + std::to_string(-i - 1) + "}]}";
  EXPECT_EQ(code(choices + "]}", {}), ErrorCode::kUnsupported);
}

// Three hundred optional properties: any may come first, and any later one next.
TEST(JsonSchema, TakesManyOptionalProperties) {
  std::string schema = "{\"type\": \"object\", \"properties\": {";
  for (int i = 0; i < 300; ++i)
    schema += std::string(i == 0 ? "" : ",") + "\"name" + std::to_string(i) + "\": {\"type\": \"string\"}";
  schema += "}, \"additionalProperties\": false}";
  const auto grammar = must(Grammar::from_json_schema(schema));
  EXPECT_TRUE(matches(grammar, R"({"name7": "a", "name250": "b", "name299": "c"})"));
  EXPECT_FALSE(matches(grammar, R"({"name7": "a", "name6": "b"})"));
  EXPECT_LT(grammar->automaton().states.size(), 20'000u);
}

// Alternatives are parallel, for any number of them.
TEST(JsonSchema, TakesPatternsOfManyAlternatives) {
  std::string pattern = "^(w0";
  for (int i = 1; i < 500; ++i) pattern += "|w" + std::to_string(i);
  const auto grammar = must(Grammar::from_json_schema(R"({"type": "string", "pattern": ")" + pattern + ")$\"}"));
  for (const char* text : {"\"w0\"", "\"w499\""}) EXPECT_TRUE(matches(grammar, text)) << text;
  for (const char* text : {"\"w\"", "\"w500\""}) EXPECT_FALSE(matches(grammar, text)) << text;
}

TEST(JsonSchema, AnyObject) {
  const auto grammar = must(Grammar::any_json_object());
  EXPECT_TRUE(matches(grammar, R"({"a": [1, {"b": null}], "": "x"})"));
  EXPECT_TRUE(matches(grammar, "{}"));
  EXPECT_FALSE(matches(grammar, "[]"));
  EXPECT_FALSE(matches(grammar, "{} "));
}

// A model must not be able to emit whitespace forever.
TEST(JsonSchema, BoundsWhitespace) {
  const auto grammar = must(Grammar::any_json_object());
  for (const char* blank : {" ", "\n", "\t"}) {
    Matcher matcher = matcher_of(grammar);
    ASSERT_TRUE(matcher.accept_bytes("{"));
    size_t n = 0;
    while (matcher.accept_bytes(blank)) ASSERT_LE(++n, 100u);
  }
}

// A relaxed grammar leaves out unsupported keywords; the rest still binds.
TEST(JsonSchema, RelaxesWhatIsNotBuilt) {
  const Sentences cases[] = {
      {R"({"type": "array", "items": {"type": "integer"}, "uniqueItems": true})", {"[1, 1]"}, {"[\"x\"]"}},
      {R"({"type": "number", "multipleOf": 2147483659.5})", {"0.3"}, {"\"x\""}},
      {R"({"type": "integer", "multipleOf": 2147483659, "minimum": 1, "maximum": 9})", {"3"}, {"10"}},
      {R"({"type": "string", "not": {"format": "date"}})", {R"("2024-01-01")"}, {"1"}},
      {R"({"type": "object", "propertyNames": {"pattern": "\\bx"}, "additionalProperties": {"type": "null"}})",
       {R"({"a": null})"},
       {R"({"a": 1})"}},
      {R"({"type": "string", "pattern": "^(?<!a)b"})", {R"("a")"}, {"1"}},
      {R"({"type": "string", "pattern": "\\Ax\\Z", "maxLength": 2})", {R"("ab")"}, {R"("abc")"}},
      {R"({"type": "string", "pattern": "^[ab]*a[ab]{30}$", "maxLength": 99})",
       {"\"" + std::string(200, 'a') + "\""},
       {R"("1")"}},
      {R"({"type": "string", "pattern": "^x+$", "format": "uuid"})", {R"("xx")"}, {R"("y")"}},
      {R"({"type": "string", "format": "date", "maxLength": 5})", {R"("2024-02-29")"}, {R"("2024")"}},
      {R"({"type": "object", "properties": {"a": {"type": "null"}}, "patternProperties": {"(?<=x)y": {"type": "null"}},
           "additionalProperties": false})",
       {R"({"a": null})"},
       {R"({"a": 1})", R"({"b": null})"}},
      {R"({"type": "object", "patternProperties": {"(?<=x)y": {"type": "null"}}, "additionalProperties": {"type": "null"}})",
       {R"({"a": 1})"},
       {"[]"}},
      {R"({"type": "object", "properties": {"a": {"type": "null"}}, "minProperties": 3})",
       {R"({"a": null, "b": 1})"},
       {"{}", R"({"a": 1})"}},
      {R"({"type": "object", "minProperties": 3})", {R"({"a": 1})"}, {"{}"}},
      {R"({"enum": ["a", "bb"], "format": "date"})", {R"("bb")"}, {R"("c")"}},
      {R"({"$ref": "https://example.com/x.json"})", {"1", "{}"}, {"["}},
      {R"({"allOf": [{"type": "string", "format": "date"}, {"format": "time"}]})",
       {R"("2024-02-29")"},
       {R"("12:00:00Z")"}},
      {R"({"type": "integer", "if": {"format": "date"}, "then": {"maximum": 5}, "$dynamicRef": "#x"})",
       {"9"},
       {"\"x\""}},
  };
  for (const Sentences& test : cases) {
    EXPECT_FALSE(Grammar::from_json_schema(test.grammar).ok()) << test.grammar;
    const auto grammar = must(Grammar::from_json_schema(test.grammar, {}, {.relaxed = true}), test.grammar);
    for (const auto& text : test.accepted) EXPECT_TRUE(matches(grammar, text)) << test.grammar << " on " << text;
    for (const auto& text : test.rejected) EXPECT_FALSE(matches(grammar, text)) << test.grammar << " on " << text;
  }
}

// A relaxed grammar lists all keywords that it does not enforce, and no others.
TEST(JsonSchema, NamesWhatItLeavesOut) {
  using Places = std::vector<std::string>;
  const std::pair<const char*, Places> cases[] = {
      {R"({"type": "object", "properties": {"a": {"type": "string", "title": "t", "x": 1}}})", {}},
      {R"({"properties": {"a": {"type": "array", "uniqueItems": true}, "b": {"unevaluatedProperties": false}}})",
       {"#/properties/a/uniqueItems", "#/properties/b/unevaluatedProperties"}},
      {R"({"type": "string", "pattern": "^x+$", "format": "uuid", "maxLength": 9})", {"#/format"}},
      {R"({"type": "string", "pattern": "^[ab]*a[ab]{30}$", "maxLength": 99})", {"#/maxLength"}},
      {R"({"type": "string", "pattern": "(?<=a)b", "format": "date"})", {"#/pattern"}},
      {R"({"type": "object", "patternProperties": {"(?<=x)y": {}}, "minProperties": 2})",
       {"#/patternProperties/(?<=x)y", "#/minProperties"}},
      {R"({"type": "number", "multipleOf": 2147483659.5, "not": {"format": "date"}})",
       {"#/not/format", "#/multipleOf"}},
      {R"({"$ref": "other.json"})", {"#/$ref"}},
      {R"({"enum": ["a", "b"], "format": "date", "$recursiveRef": "#"})", {"#/$recursiveRef", "#/format"}},
      {R"({"oneOf": [{"type": "string", "format": "date"}, {"type": "string", "pattern": "a"}]})", {"#/oneOf"}},
      {R"({"oneOf": [{"type": "integer"}, {"type": "string"}]})", {}},
      {R"({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})", {}},
  };
  for (const auto& [schema, places] : cases) {
    const auto grammar = must(Grammar::from_json_schema(schema, {}, {.relaxed = true}), schema);
    EXPECT_EQ(grammar->left_out(), places) << schema;
  }
}

TEST(JsonSchema, RelaxesNothingThatIsWrong) {
  for (const char* schema : {R"({"$ref": "#/$defs/nothing"})", R"({"type": "text"})", R"({"required": true})",
                             R"({"uniqueItems": 1})", R"({"properties": []})"}) {
    const auto grammar = Grammar::from_json_schema(schema, {}, {.relaxed = true});
    ASSERT_FALSE(grammar.ok()) << schema;
    EXPECT_EQ(grammar.error().code, ErrorCode::kInvalidArgument) << schema;
  }
}

TEST(JsonSchema, NullableIsAType) {
  expect_sentences({
      {R"({"$ref": "#/$defs/a", "nullable": true, "$defs": {"a": {"type": "integer"}}})", {"null", "1"}, {"true"}},
      {R"({"allOf": [{"type": "integer"}, {"minimum": 2}], "nullable": true})", {"null", "2"}, {"1"}},
      {R"({"type": "string", "enum": ["a"], "nullable": true})", {R"("a")"}, {"null"}},
      {R"({"type": "string", "nullable": true, "maxLength": 1})", {"null", R"("a")"}, {"1", R"("ab")"}},
      {R"({"type": ["integer", "null"], "nullable": true})", {"null", "1"}, {"true"}},
      {R"({"type": "integer", "nullable": false})", {"1"}, {"null"}},
  });
}

TEST(JsonSchema, BeginsAtAnyPlace) {
  const std::string schema = R"({"properties": {"a/b%20": {"$ref": "#/$defs/n"}, "c": {"$ref": "#"}},
                                 "required": ["c"], "$defs": {"n": {"type": "null"}}})";
  const auto schema_rules = must(compile_json_schema(schema, {}, {.root = path_to("#/properties", "a/b%20")}));
  const auto grammar = must(Grammar::from_rules(schema_rules.rules));
  EXPECT_TRUE(matches(grammar, "null"));
  EXPECT_FALSE(matches(grammar, "1"));
}

}  // namespace
}  // namespace realizar::grammar
