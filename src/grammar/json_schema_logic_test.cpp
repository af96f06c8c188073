// Keywords for negations and conditions. Accepted documents were compared with Python's jsonschema.
#include "grammar/json_schema.h"

#include <ctime>

#include "grammar/test_support.h"

namespace realizar::grammar {
namespace {

TEST(JsonSchemaLogic, KeepsToMultiples) {
  expect_sentences({
      {R"({"type": "integer", "multipleOf": 7})", {"0", "7", "-14", "700000000000007"}, {"1", "-0", "15", "7.0"}},
      {R"({"type": "number", "multipleOf": 5})", {"5", "-10", "5.0"}, {"5.5", "1", "-0.0", "5.00", "5e0"}},
      {R"({"type": "number", "multipleOf": 0.01})", {"0.07", "-1.5", "2", "19.99"}, {"0.001", "19.999", "1.500"}},
      {R"({"type": "number", "multipleOf": 0.25, "minimum": -1, "exclusiveMaximum": 1})",
       {"-1", "-0.75", "0.5", "0.50", "0"},
       {"1", "-1.25", "0.3", "0.125"}},
      {R"({"type": "integer", "multipleOf": 1.5})", {"3", "-6"}, {"1", "2", "4"}},
      {R"({"type": "integer", "multipleOf": 0.5})", {"1", "2"}, {"0.5"}},
      {R"({"type": "integer", "multipleOf": 1000000, "minimum": 1})", {"3000000"}, {"0", "300000", "3000001"}},
      {R"({"type": "integer", "multipleOf": 86400})", {"86400", "172800"}, {"86401", "8640"}},
      {R"({"type": "integer", "allOf": [{"multipleOf": 4}, {"multipleOf": 6}]})", {"12", "-24"}, {"4", "6", "8"}},
      {R"({"allOf": [{"type": "number", "multipleOf": 0.3}, {"multipleOf": 0.2}]})", {"0.6", "6"}, {"0.3", "0.2"}},
      {R"({"enum": [1, 2, 2.5, "x"], "multipleOf": 0.5, "not": {"multipleOf": 1}})", {"2.5"}, {"1", "2", R"("x")"}},
  });
}

// Every integer and every hundredth near zero, against arithmetic.
TEST(JsonSchemaLogic, CountsMultiplesExactly) {
  for (const int divisor : {1, 2, 3, 7, 12, 25, 64, 99}) {
    const std::string text = std::to_string(divisor);
    const auto integer = Grammar::from_json_schema(R"({"type": "integer", "multipleOf": )" + text + "}");
    const auto hundredths =
        Grammar::from_json_schema(R"({"type": "number", "maximum": 31, "multipleOf": )" + text + "e-2}");
    ASSERT_TRUE(integer.ok() && hundredths.ok()) << divisor;
    for (int i = 0; i <= 3200; ++i) {
      EXPECT_EQ(matches(*integer, std::to_string(i)), i % divisor == 0) << i << " of " << divisor;
      const std::string digits = std::to_string(i % 100);
      const std::string number = std::to_string(i / 100) + (digits.size() == 1 ? ".0" : ".") + digits;
      EXPECT_EQ(matches(*hundredths, number), i % divisor == 0 && i <= 3100) << number << " of " << divisor;
    }
  }
}

TEST(JsonSchemaLogic, KeepsItemsUnique) {
  expect_sentences({
      {R"({"type": "array", "items": {"enum": ["a", "b", 1]}, "uniqueItems": true})",
       {"[]", R"(["a"])", R"(["b","a"])", R"([1, "b", "a"])"},
       {R"(["a","a"])", R"(["a","b","a"])", "[1,1]", "[2]"}},
      {R"({"type": "array", "items": {"enum": ["a", "b", 1]}, "uniqueItems": true, "minItems": 2, "maxItems": 2})",
       {R"(["b","a"])"},
       {"[]", R"(["a"])", R"(["b","b"])", R"([1,"b","a"])"}},
      {R"({"type": "array", "items": {"type": ["boolean", "null"]}, "uniqueItems": true, "minItems": 3})",
       {"[null,true,false]"},
       {"[null,true]", "[true,true,null]"}},
      {R"({"type": "array", "items": {"type": "integer", "minimum": 1, "exclusiveMaximum": 4}, "uniqueItems": true})",
       {"[3,1,2]"},
       {"[3,3]", "[4]", "[0]"}},
      {R"({"type": "array", "prefixItems": [{"const": "a"}, {"enum": ["a", "b"]}], "items": {"$ref": "#/$defs/c"}, "uniqueItems": true, "$defs": {"c": {"anyOf": [{"const": "c"}, {"const": "b"}]}}})",
       {"[]", R"(["a","b","c"])", R"(["a","b"])"},
       {R"(["a","a"])", R"(["a","b","b"])", R"(["a","c"])"}},
      {R"({"type": "array", "items": {"type": "string"}, "uniqueItems": true, "maxItems": 1})",
       {R"(["x"])"},
       {R"(["x","y"])"}},
      {R"({"enum": [[1, 1], [1, 2]], "uniqueItems": true})", {"[1,2]"}, {"[1,1]"}},
      // With many values, ordered.
      {R"({"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 40}, "uniqueItems": true, "minItems": 2, "maxItems": 20})",
       {"[1,40]", "[3,4,5]"},
       {"[]", "[1]", "[40,40]", "[2,1]", "[41,42]"}},
  });
  const auto impossible = Grammar::from_json_schema(
      R"({"type": "array", "items": {"type": "boolean"}, "uniqueItems": true, "minItems": 3})");
  ASSERT_FALSE(impossible.ok());
  EXPECT_EQ(impossible.error().code, ErrorCode::kInvalidArgument);
}

TEST(JsonSchemaLogic, TakesTheContrary) {
  expect_sentences({
      {R"({"not": {"type": "string"}})", {"1", "1.5", "null", "[]", "{}"}, {R"("a")"}},
      {R"({"not": {"type": ["integer", "null"]}})", {"1.5", "true", R"("a")"}, {"1", "null", "1.0"}},
      {R"({"not": {"enum": ["a", 1, true, [], {}]}})",
       {R"("b")", "2", "false", "[1]", R"({"a":1})"},
       {R"("a")", "1", "1.0", "true", "[]", "{}"}},
      {R"({"type": "string", "not": {"const": "a\"b"}})", {R"("a")", R"("a\"c")", R"("a\"bc")"}, {R"("a\"b")"}},
      {R"({"type": "number", "not": {"enum": [0, -2.5]}})", {"1", "-2.51", "-2"}, {"0", "0.0", "-2.5", "-2.50"}},
      {R"({"type": "integer", "not": {"minimum": 3, "maximum": 10}})", {"2", "11"}, {"3", "10"}},
      {R"({"type": "integer", "not": {"multipleOf": 3}})", {"1", "-2"}, {"0", "3", "-6"}},
      {R"({"type": "number", "not": {"type": "integer"}})", {"1.5"}, {"1", "1.0"}},
      {R"({"type": "string", "not": {"pattern": "^a"}, "maxLength": 2})",
       {R"("")", R"("ba")"},
       {R"("ab")", R"("bbb")"}},
      {R"({"not": {"anyOf": [{"type": "string"}, {"minimum": 2}]}})", {"1"}, {"2", "null", R"("a")"}},
      {R"({"not": {"allOf": [{"type": "integer"}, {"minimum": 2}]}})", {"1", "2.5", R"("a")"}, {"2"}},
      {R"({"not": {"not": {"type": "integer"}}})", {"1"}, {R"("a")"}},
      {R"({"not": false})", {"1"}, {"["}},
      {R"({"not": {"$ref": "#/$defs/s"}, "$defs": {"s": {"type": "string", "minLength": 2}}})",
       {R"("a")", "1"},
       {R"("ab")"}},
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false, "not": {"required": ["a", "b"]}})",
       {"{}", R"({"a":1})", R"({"b":1})"},
       {R"({"a":1,"b":1})"}},
      {R"({"type": "object", "properties": {"a": {}}, "additionalProperties": false, "not": {"properties": {"a": {"type": "null"}}, "required": ["a"]}})",
       {"{}", R"({"a":1})"},
       {R"({"a":null})"}},
      {R"({"type": "array", "not": {"prefixItems": [{"const": 1}]}})", {"[2]", "[2,1]"}, {"[]", "[1]"}},
      {R"({"enum": ["a", "b", 1], "not": {"enum": ["b"]}})", {R"("a")", "1"}, {R"("b")"}},
  });
}

TEST(JsonSchemaLogic, TakesConditions) {
  const std::string object =
      R"({"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": "integer"}}, "additionalProperties": false, )";
  const std::string by_kind = object + R"("if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
      "then": {"required": ["n"]}, "else": {"properties": {"n": false}}})";
  const std::string requires_n = object + R"("dependentRequired": {"kind": ["n"]}})";
  const std::string bounds_n =
      object + R"("dependentSchemas": {"kind": {"properties": {"n": {"maximum": 3}}}, "n": true}})";
  const std::string forbids_n = object + R"("dependentSchemas": {"n": false}})";
  expect_sentences({
      {by_kind.c_str(),
       {R"({"kind":"a","n":1})", R"({"kind":"b"})", "{}"},
       {R"({"kind":"a"})", R"({"kind":"b","n":1})", R"({"n":1})"}},
      {R"({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "integer"}})",
       {R"("ab")", "1"},
       {R"("a")", "null"}},
      {R"({"type": "integer", "if": {"minimum": 5}, "then": {"multipleOf": 5}})", {"4", "10", "-1"}, {"6"}},
      {R"({"type": "integer", "if": true, "then": {"maximum": 5}, "else": false})", {"5"}, {"6"}},
      {R"({"type": "integer", "if": {"maximum": 3}})", {"9"}, {"null"}},
      {requires_n.c_str(), {"{}", R"({"n":1})", R"({"kind":"a","n":1})"}, {R"({"kind":"a"})"}},
      {bounds_n.c_str(), {R"({"n":9})", R"({"kind":"a","n":3})", R"({"kind":"a"})"}, {R"({"kind":"a","n":9})"}},
      {forbids_n.c_str(), {"{}", R"({"kind":"a"})"}, {R"({"n":1})"}},
  });
}

// Twenty branches exclude each other, so that 21 of their 2^20 combinations remain.
TEST(JsonSchemaLogic, TakesManyBranchesOfOneProperty) {
  std::string schema = R"({"type": "object", "properties": {"kind": {"type": "string"}, "n": {}}, "required": ["kind"],
                           "additionalProperties": false, "allOf": [true)";
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    schema += R"(, {"if": {"properties": {"kind": {"const": "k)" + number +
              R"("}}}, "then": {"properties": {"n": {"const": )" + number + R"(}}, "required": ["n"]}})";
  }
  // Sanitizers need more than the usual two seconds.
  const auto grammar = Grammar::from_json_schema(schema + "]}", {.compile_timeout_ms = 60'000});
  ASSERT_TRUE(grammar.ok()) << grammar.error().message;
  EXPECT_TRUE(matches(*grammar, R"({"kind":"k7","n":7})"));
  EXPECT_TRUE(matches(*grammar, R"({"kind":"other","n":"x"})"));
  EXPECT_FALSE(matches(*grammar, R"({"kind":"k7","n":8})"));
  EXPECT_FALSE(matches(*grammar, R"({"kind":"k7"})"));
}

TEST(JsonSchemaLogic, KeepsToNames) {
  expect_sentences({
      {R"({"type": "object", "propertyNames": {"pattern": "^a"}})",
       {"{}", R"({"a":1,"ab":2})"},
       {R"({"b":1})", R"({"a":1,"":1})"}},
      {R"({"type": "object", "propertyNames": {"maxLength": 1}, "additionalProperties": {"type": "null"}, "minProperties": 1})",
       {R"({"x":null})"},
       {"{}", R"({"xy":null})", R"({"x":1})"}},
      {R"({"type": "object", "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": {"type": "null"}})",
       {"{}", R"({"b":null})", R"({"a":null,"b":null})"},
       {R"({"c":null})", R"({"a":1})", R"({"a":null,"a":null})"}},
      {R"({"type": "object", "propertyNames": {"minLength": 2}, "properties": {"a": {}, "ab": {"type": "null"}}})",
       {R"({"ab":null,"cd":1})"},
       {R"({"a":1})", R"({"ab":1})", R"({"c":1})"}},
      {R"({"type": "object", "propertyNames": {"not": {"const": "x"}}})",
       {R"({"y":1})", R"({"xx":1})"},
       {R"({"x":1})"}},
      {R"({"type": "object", "propertyNames": {"anyOf": [{"const": "a"}, {"$ref": "#/$defs/n"}]}, "$defs": {"n": {"pattern": "^x"}}})",
       {R"({"a":1,"x1":2})"},
       {R"({"b":1})"}},
      {R"({"type": "object", "propertyNames": {"maxLength": 2}, "patternProperties": {"^x": {"type": "null"}}})",
       {R"({"xy":null})"},
       {R"({"xyz":null})", R"({"xy":1})"}},
      {R"({"type": "object", "propertyNames": {"format": "date"}})", {R"({"2024-02-29":1})"}, {R"({"2024-02-30":1})"}},
      {R"({"type": "object", "propertyNames": false})", {"{}"}, {R"({"a":1})"}},
      {R"({"type": "object", "allOf": [{"propertyNames": {"minLength": 2}}, {"propertyNames": {"maxLength": 2}}]})",
       {R"({"ab":1})"},
       {R"({"a":1})", R"({"abc":1})"}},
  });
}

// Alternatives with different required properties exclude each other.
TEST(JsonSchemaLogic, TakesOneOfTheAlternatives) {
  expect_sentences({
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false,
           "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})",
       {R"({"a": 1})", R"({"b": 1})"},
       {"{}", R"({"a": 1, "b": 1})"}},
      {R"({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]})",
       {R"({"a": 1, "c": 2})"},
       {R"({"a": 1, "b": 1})", "1"}},
      {R"({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b", "c"]}]})",
       {R"({"a": 1, "b": 1})", R"({"a": 1, "c": 1})", R"({"b": 1, "c": 1})"},
       {R"({"b": 1})"}},
      {R"({"oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
           "$defs": {"a": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                     "b": {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}}})",
       {R"({"a": 1})", R"({"b": 1})"},
       {R"({"a": 1, "b": 1})"}},
      {R"({"oneOf": [{"type": "integer"}, {"minimum": 2}]})", {"1", "2.5", R"("s")", "-3"}, {"2", "3"}},
      {R"({"type": "string", "oneOf": [{"minLength": 2}, {"maxLength": 4}]})", {R"("a")", R"("abcde")"}, {R"("abc")"}},
      {R"({"oneOf": [{"type": "number"}, {}]})", {R"("s")", "[]"}, {"1"}},
      {R"({"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]})", {R"("a")", R"("c")"}, {R"("b")"}},
      // They differ in values too, so the name may be present.
      {R"({"type": "object", "oneOf": [{"properties": {"k": {"const": 1}, "n": {}}, "required": ["k"]},
                                       {"properties": {"k": {"const": 2}, "n": {}}, "required": ["k", "n"]}]})",
       {R"({"k": 1, "n": 1})", R"({"k": 2, "n": 1})", R"({"k": 1})"},
       {R"({"k": 2})"}},
  });
}

TEST(JsonSchemaLogic, ListsObjectsAndArrays) {
  expect_sentences({
      {R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/b"}}, "required": ["a"],
           "additionalProperties": false, "patternProperties": {"^x": {"type": "null"}},
           "enum": [{"a": 1}, {"a": "s"}, {"b": 1}, {"a": 1, "b": 9}, {"a": 1, "b": 2}, {"a": 2, "x": null}, {"a": 1, "y": 1}],
           "$defs": {"b": {"maximum": 5}}})",
       {R"({"a": 1})", R"({"a": 1, "b": 2})", R"({"a": 2, "x": null})"},
       {R"({"a": "s"})", R"({"b": 1})", R"({"a": 1, "b": 9})", R"({"a": 1, "y": 1})"}},
      {R"({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}, "contains": {"const": 2},
           "enum": [["a", 2], ["a", 1], [1, 2], ["a", "b", 2], ["b", 1, 2]]})",
       {R"(["a", 2])", R"(["b", 1, 2])"},
       {R"(["a", 1])", "[1, 2]", R"(["a", "b", 2])"}},
      {R"({"enum": [{"k": 1}, {"k": 2}, {"k": 3}, 5], "properties": {"k": {"oneOf": [{"minimum": 2}, {"maximum": 2}]}},
           "if": {"type": "object"}, "then": {"propertyNames": {"pattern": "^k"}}})",
       {R"({"k": 1})", R"({"k": 3})", "5"},
       {R"({"k": 2})"}},
      {R"({"const": {"d": "2024-02-29"}, "properties": {"d": {"format": "date"}}})",
       {R"({"d": "2024-02-29"})"},
       {"{}"}},
  });
}

TEST(JsonSchemaLogic, LooksAhead) {
  expect_sentences({
      {R"x({"type": "string", "pattern": "^(?!a)[ab]+$"})x", {R"("ba")"}, {R"("ab")", R"("")"}},
      {R"x({"type": "string", "pattern": "^(?=.*[A-Z])(?=.*\\d).{8,}$"})x",
       {R"("Password1")"},
       {R"("password1")", R"("Pass1")"}},
      {R"x({"type": "string", "pattern": "^(?!.*--)[a-z-]+$"})x", {R"("a-b-c")"}, {R"("a--b")", R"("--")"}},
      {R"x({"type": "string", "pattern": "a(?=b)"})x", {R"("xab")"}, {R"("ac")", R"("a")"}},
      {R"x({"type": "string", "pattern": "a(?!b)"})x", {R"("a")", R"("abac")"}, {R"("ab")", R"("b")"}},
      {R"x({"type": "string", "pattern": "^(?:(?!ab)[ab])*$"})x", {R"("")", R"("bba")"}, {R"("bab")"}},
      {R"x({"type": "string", "pattern": "^((?=a|b).){2,3}$"})x",
       {R"("ab")", R"("bab")"},
       {R"("a")", R"("ac")", R"("abab")"}},
      {R"x({"type": "string", "pattern": "(^|-)a(b|$)"})x", {R"("a")", R"("x-a")", R"("abc")"}, {R"("xa")", R"("ac")"}},
      {R"x({"type": "string", "pattern": "x*^a"})x", {R"("ab")"}, {R"("xa")"}},
      {R"x({"type": "string", "pattern": "^(ab)*$", "minLength": 1, "maxLength": 4})x",
       {R"("ab")", R"("abab")"},
       {R"("")", R"("ababab")"}},
      {R"x({"type": "string", "pattern": "-02-", "format": "date"})x",
       {R"("2024-02-29")"},
       {R"("2024-03-01")", R"("-02-")"}},
      {R"x({"type": "string", "format": "email", "maxLength": 7})x", {R"("a@b.cd")"}, {R"("abc@b.cd")"}},
      {R"x({"allOf": [{"type": "string", "pattern": "^a|c"}, {"pattern": "b$"}]})x",
       {R"("ab")", R"("cb")"},
       {R"("a")", R"("b")"}},
      {R"x({"enum": ["a", "ab", 1], "pattern": "^(?!ab)"})x", {R"("a")", "1"}, {R"("ab")"}},
      {R"x({"type": "string", "pattern": "^(?!\\n)[\\n\"]+$"})x", {R"("\"\n")"}, {R"("\n")"}},
  });
}

TEST(JsonSchemaLogic, TakesTrueAndFalseEverywhere) {
  expect_sentences({
      {R"({"type": "object", "properties": {"a": true, "b": false}})", {R"({"a":1})"}, {R"({"b":1})"}},
      {R"({"anyOf": [true, false]})", {"1"}, {"["}},
      {R"({"allOf": [true, {"type": "integer"}]})", {"1"}, {"null"}},
      {R"({"oneOf": [false, {"type": "integer"}]})", {"1"}, {"null"}},
      {R"({"$ref": "#/$defs/t", "$defs": {"t": true}})", {"1"}, {"["}},
      {R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/f"}}, "$defs": {"f": false}})",
       {"{}", R"({"b":1})"},
       {R"({"a":1})"}},
      {R"({"type": "array", "prefixItems": [true, false], "items": true})", {"[]", "[1]"}, {"[1,1]"}},
      {R"({"type": "object", "additionalProperties": true, "propertyNames": true})", {R"({"a":1})"}, {"[]"}},
  });
}

// Expensive schemas are refused in time, exact or relaxed.
TEST(JsonSchemaLogic, StopsHostileSchemas) {
  std::string conditions = R"({"type": "object", "allOf": [true)";
  for (int i = 0; i < 30; ++i) {
    const std::string name = "p" + std::to_string(i);
    conditions += R"(, {"if": {"required": [")" + name + R"("]}, "then": {"required": [")" + name + R"(x"]}})";
  }
  std::string doubled = R"({"$ref": "#/$defs/a0", "$defs": {"z": {"type": "null"})";
  for (int i = 0; i < 40; ++i) {
    const std::string next = R"({"$ref": "#/$defs/a)" + std::to_string(i + 1) + "\"}";
    doubled += ", \"a" + std::to_string(i) + R"(": {"not": {"anyOf": [)" + next + "," + next + "]}}";
  }
  std::string nested = R"({"not": )", ends = "}";
  for (int i = 0; i < 100; ++i) {
    nested += R"({"not": )";
    ends += "}";
  }
  std::string repeated;
  for (int i = 0; i < 30; ++i) repeated += "((?=a)a){30}";
  const std::string string = R"x({"type": "string", "pattern": ")x";
  const std::string refused[] = {
      conditions + "]}",
      nested + R"({"items": {"type": "null"}})" + ends,
      R"({"not": {"$ref": "#"}})",
      R"({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}})",
      R"({"type": "number", "multipleOf": 1e-300})",
      R"({"type": "number", "multipleOf": 999999937})",
      R"({"type": "integer", "multipleOf": 4999, "minimum": 1})",
      string + repeated + "\"}",
      string + "(((a(?=b)|^){9}|b){9}|c){9}\"}",
      string + "^(?=(a|b)*a(a|b){900}$)\"}",
      string + std::string(5000, '^') + "\"}",
      string + "^(?!" + std::string(5000, 'a') + ")\"}",
      R"({"type": "string", "pattern": "^[a-z]{0,100000}x$", "maxLength": 50000})",
      R"({"type": "object", "propertyNames": {"$ref": "#/$defs/n"}, "$defs": {"n": {"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}}})",
      R"({"type": "array", "uniqueItems": true, "items": {"type": "integer", "minimum": -1e300, "maximum": 1e300}})",
  };
  std::vector<std::string> hostile(std::begin(refused), std::end(refused));
  hostile.push_back(doubled + R"(, "a40": {"type": "null"}}})");
  for (const std::string& schema : hostile) {
    for (const bool relaxed : {false, true}) {
      const std::clock_t begin = std::clock();  // only this process, regardless of others
      const auto grammar = Grammar::from_json_schema(schema, {}, {.relaxed = relaxed});
      const auto elapsed_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      EXPECT_TRUE(relaxed || !grammar.ok() || schema == hostile.back()) << schema.substr(0, 200);
      EXPECT_LT(elapsed_s, 60) << schema.substr(0, 200);
      if (!grammar.ok()) {
        EXPECT_NE(grammar.error().code, ErrorCode::kInternal) << schema.substr(0, 200);
      }
    }
  }
}

}  // namespace
}  // namespace realizar::grammar
