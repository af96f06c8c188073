#include "base/result_checks.h"
#include "grammar/test_support.h"

namespace realizar::grammar {
namespace {

using namespace std::string_literals;

TEST(Gbnf, AcceptsExactlyItsSentences) {
  const Sentences cases[] = {
      {R"(root ::= "a")", {"a"}, {"", "b", "aa"}},
      {R"(root ::= "a" "b" | "c")", {"ab", "c"}, {"a", "abc", "ac"}},
      {R"(root ::= "a"* "b"+ "c"?)", {"b", "aab", "bbbc", "abc"}, {"", "a", "ac", "bcc", "ba"}},
      {R"(root ::= "a"{2})", {"aa"}, {"a", "aaa"}},
      {R"(root ::= "a"{2,})", {"aa", "aaaaa"}, {"", "a"}},
      {R"(root ::= "a"{2,4})", {"aa", "aaa", "aaaa"}, {"a", "aaaaa"}},
      {R"(root ::= "a"{ 0 , 2 } "b")", {"b", "ab", "aab"}, {"aaab"}},
      {R"(root ::= "a"{,2} "b")", {"b", "ab", "aab"}, {"aaab"}},
      {R"(root ::= "a"{0})", {""}, {"a"}},
      {R"(root ::= ("a" | "b"){2} "c")", {"abc", "bbc"}, {"ac", "abbc"}},
      {R"(root ::= [a-cx] [^a-c])", {"ad", "x\xC3\xA9", "c\n"}, {"aa", "dd", "x\xFF", "x"}},
      {R"(root ::= [a-])", {"a", "-"}, {"b"}},
      {R"(root ::= [\]\[\\\-\^"])", {"]", "[", "\\", "-", "^", "\""}, {"a"}},
      {R"(root ::= "\n\t\r\\\"\x41\u00e9\U0001F600")", {"\n\t\r\\\"A\xC3\xA9\xF0\x9F\x98\x80"}, {"nt"}},
      {R"(root ::= .)",
       {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\n"},
       {"", "ab", "\x80", "\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x82"}},
      {R"(root ::= [\u0100-\U0010FFFF])",
       {"\xC4\x80", "\xF4\x8F\xBF\xBF", "\xEF\xBF\xBF"},
       {"\xC3\xBF", "\xF4\x90\x80\x80"}},
      {R"(root ::= [\u07fe-\u0802])",
       {"\xDF\xBE", "\xDF\xBF", "\xE0\xA0\x80", "\xE0\xA0\x82"},
       {"\xDF\xBD", "\xE0\xA0\x83"}},
      {"# first\nroot ::= a | # choice\n  b # end\na ::= \"a\"\n\nb ::= (\"b\"\n  \"c\")\n", {"a", "bc"}, {"b"}},
      {"root ::= \"a\"\n  | \"b\"\n  | \"c\"", {"a", "b", "c"}, {"ab"}},
      {"root ::=\n  \"a\" b\nb ::= \"b\"\r\n", {"ab"}, {"a"}},
      {"root ::= \"a\" ws \"b\"\nws ::= | \" \" ws\n", {"ab", "a b", "a    b"}, {"a"}},
      {"root ::= e \"x\"\ne ::=\n", {"x"}, {""}},
      {R"(root ::= "")", {""}, {"a"}},
      {"root ::= x_1 a-B\nx_1 ::= \"1\"\na-B ::= \"2\"\nunused ::= root", {"12"}, {"1"}},
      {"root ::= \"(\" root \")\" | \"x\"", {"x", "(x)", "(((x)))"}, {"(x", "x)", "()", "((x)"}},
      {"root ::= s\ns ::= \"a\" s \"b\" s | \"\"", {"", "ab", "aabb", "abab", "aabbab"}, {"a", "ba", "aab"}},
      {"root ::= \"a\" root | \"b\"", {"b", "ab", std::string(5000, 'a') + "b"}, {"a", ""}},
      {"root ::= x{3,5} \".\"\nx ::= \"a\" | \"a\" \"b\"?",
       {"aaa.", "ababab.", "aabaaa.", "aaaaa."},
       {"aa.", "aaaaaa.", "abb."}},
      {"root ::= (\"a\"?){2,3} \".\"", {".", "a.", "aaa."}, {"aaaa."}},
  };
  for (const Sentences& test : cases) {
    const auto grammar = must(Grammar::from_gbnf(test.grammar), test.grammar);
    for (const auto& text : test.accepted) EXPECT_TRUE(matches(grammar, text)) << test.grammar << " on " << text;
    for (const auto& text : test.rejected) EXPECT_FALSE(matches(grammar, text)) << test.grammar << " on " << text;
  }
}

// Repetitions that are too large to be inlined are counted on the stack.
TEST(Gbnf, CountsLongRepetitions) {
  const auto grammar = must(Grammar::from_gbnf("root ::= [a-z]{100,1000} | \"1\" ([a-z] [0-9]?){0,300} \"2\"{200,}"));
  for (const size_t n : {0, 1, 99, 100, 101, 999, 1000, 1001}) {
    EXPECT_EQ(matches(grammar, std::string(n, 'x')), n >= 100 && n <= 1000) << n;
  }
  EXPECT_TRUE(matches(grammar, "1" + std::string(300, 'a') + std::string(200, '2')));
  EXPECT_TRUE(matches(grammar, "1a2" + std::string(5000, '2')));
  EXPECT_FALSE(matches(grammar, "1" + std::string(301, 'a') + std::string(200, '2')));
  EXPECT_FALSE(matches(grammar, "1" + std::string(300, 'a') + std::string(199, '2')));
  EXPECT_TRUE(matches(grammar, "1a" + std::string(201, '2')));
  EXPECT_TRUE(matches(grammar, "1a" + std::string(200, '2')));
  EXPECT_FALSE(matches(grammar, "1a" + std::string(199, '2')));
}

TEST(Gbnf, CountsRepetitionsOfTheEmptyText) {
  const auto grammar = must(Grammar::from_gbnf("root ::= ([a-z]*){500,1000} \".\""));
  EXPECT_TRUE(matches(grammar, "."));
  EXPECT_TRUE(matches(grammar, "abc."));
  EXPECT_TRUE(matches(grammar, std::string(3000, 'x') + "."));
}

struct Refusal {
  const char* source;
  const char* message;  // a part of it
};

TEST(Gbnf, RefusesByLineAndColumn) {
  const Refusal cases[] = {
      {"", "no rule \"root\""},
      {"a ::= \"a\"", "no rule \"root\""},
      {"root ::= a", "line 1, column 10: rule \"a\" is used but not defined"},
      {"root ::= \"a\"\nb ::= c", "line 2, column 7: rule \"c\" is used but not defined"},
      {"root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1: rule \"root\" is defined twice"},
      {"root := \"a\"", "line 1, column 6: expected ::="},
      {"root ::= \"a", "line 1, column 10: the literal has no closing"},
      {"root ::= [a", "line 1, column 10: the class has no closing"},
      {"root ::= [z-a]", "runs backwards"},
      {"root ::= []", "matches no character"},
      {"root ::= [^\\x00-\\U0010FFFF]", "matches no character"},
      {"root ::= (\"a\"", "expected )"},
      {"root ::= \"a\")", "line 1, column 13: expected the end of the line"},
      {"root ::= \"\\q\"", "unknown escape"},
      {"root ::= \"\\x4\"", "2 hexadecimal digits"},
      {"root ::= \"\\ud800\"", "not a Unicode character"},
      {"root ::= \"\xFF\"", "not valid UTF-8"},
      {"root ::= *", "expected a literal"},
      {"root ::= \"a\"**", "two repetitions"},
      {"root ::= \"a\"{3,2}", "from 3 to 2"},
      {"root ::= \"a\"{}", "expected a count"},
      {"root ::= \"a\"{1;2}", "expected {m}"},
      {"root ::= \"a\"{99999999999}", "above"},
      {"root ::= root \"a\" | \"b\"", "line 1, column 1: rule \"root\" is left-recursive"},
      {"root ::= a\na ::= b? c \"x\"\nb ::= \"b\"\nc ::= a | \"c\"",
       "line 2, column 1: rule \"a\" is left-recursive (through c)"},
      {"root ::= (root \"a\"){0,500} \"b\"", "left-recursive"},
      {"root ::= \"a\" root", "never ends"},
      {"root ::= \"a\" | b\nb ::= \"b\" b", "rule \"b\" never ends"},
  };
  for (const Refusal& test : cases) {
    EXPECT_TRUE(fails_with(Grammar::from_gbnf(test.source), ErrorCode::kInvalidArgument, test.message)) << test.source;
  }
}

TEST(Gbnf, StopsAtItsLimits) {
  const auto code = [](const std::string& source, const Limits& limits) {
    const auto grammar = Grammar::from_gbnf(source, limits);
    return grammar.ok() ? ErrorCode::kInternal : grammar.error().code;
  };
  EXPECT_EQ(code("root ::= \"" + std::string(2000, 'a') + "\"", {.max_source_bytes = 1000}),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code("root ::= \"" + std::string(2000, 'a') + "\"", {.max_states = 1000}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code("root ::= \"a\"\nb ::= \"b\"\nc ::= \"c\"", {.max_rules = 2}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code("root ::= " + std::string(500, '(') + "\"a\"" + std::string(500, ')'), {}),
            ErrorCode::kInvalidArgument);
  // Each rule is twice as large as the one before.
  std::string doubling = "root ::= r0\nr24 ::= \"a\" \"b\"?\n";
  for (int i = 0; i < 24; ++i)
    doubling += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " r" + std::to_string(i + 1) + "\n";
  EXPECT_TRUE(Grammar::from_gbnf(doubling).ok());
}

TEST(Gbnf, BoundsTheDepthOfItsStack) {
  const auto grammar = must(Grammar::from_gbnf("root ::= \"(\" root \")\" | \"x\""));
  for (const size_t depth : {10, 900}) {
    EXPECT_TRUE(matches(grammar, std::string(depth, '(') + "x" + std::string(depth, ')'))) << depth;
  }
  Matcher matcher = matcher_of(grammar);
  size_t depth = 0;
  while (matcher.accept_bytes("(")) ASSERT_LE(++depth, 1100u);
  EXPECT_GE(depth, 900u);
  EXPECT_TRUE(matcher.accept_bytes("x" + std::string(depth, ')')));
  EXPECT_TRUE(matcher.is_complete());
}

// Two alternatives at every step, which would make 2^n stacks if they were kept apart.
TEST(Gbnf, KeepsAmbiguityPolynomial) {
  const char* const sources[] = {
      "root ::= s\ns ::= \"a\" x \"y\" | \"a\" z \"y\" | \"b\"\nx ::= s | \"(\" x \")\"\nz ::= s | \"(\" z \")\"",
      "root ::= s \".\"\ns ::= \"a\" s s | \"a\" s | \"a\"",
      "root ::= (\"a\"* \"a\"*)* \"a\"{0,300} \"a\"{0,300} \".\"",
  };
  const std::string texts[] = {std::string(400, 'a') + "b" + std::string(400, 'y'), std::string(400, 'a') + ".",
                               std::string(400, 'a') + "."};
  for (size_t i = 0; i < 3; ++i) {
    const auto grammar = must(Grammar::from_gbnf(sources[i]));
    EXPECT_TRUE(matches(grammar, texts[i])) << sources[i];
  }
}

}  // namespace
}  // namespace realizar::grammar
