#include "grammar/lark.h"

#include <string>
#include <vector>

#include "base/result_checks.h"
#include "grammar/rule_copy.h"
#include "grammar/test_support.h"

namespace realizar::grammar {
namespace {

std::shared_ptr<const Grammar> compiled(const RuleSet& rules) {
  return must(Grammar::from_rules(rules));
}

struct LarkCase {
  const char* grammar;
  std::vector<std::string> accepted, rejected;
};

void expect_lark(const std::vector<LarkCase>& cases) {
  for (const LarkCase& test : cases) {
    const auto rules = must(parse_lark(test.grammar, "g"), test.grammar);
    const auto grammar = compiled(rules);
    for (const auto& text : test.accepted) EXPECT_TRUE(matches(grammar, text)) << test.grammar << " on " << text;
    for (const auto& text : test.rejected) EXPECT_FALSE(matches(grammar, text)) << test.grammar << " on " << text;
  }
}

TEST(Lark, RulesAndTerminalsAreWrittenOut) {
  expect_lark({
      {"start: \"a\" b* \"c\"\nb: \"b\" | \"x\"", {"ac", "abxbc"}, {"", "a", "abcc"}},
      {"start: [A] B? (C | \"d\"i)~2..3\nA: \"a\"\nB: /b+/\nC: \"0\"..\"9\"",
       {"bb12", "aDd", "dd", "a1D3"},
       {"a", "b1", "1234"}},
      {"?start: (\"x\" -> ex\n  | \"y\"  -> why)+ // a comment\n# another\n", {"x", "yx"}, {"", "z"}},
      {"start: \"\\u00e9\\n\" | \"\\\"\"", {"\xC3\xA9\n", "\""}, {"e"}},
      {"start.2: A\nA.3: /[^\\/]+\\/x/", {"ab/x"}, {"/x", "ab"}},
      {"!start: x~3\nx:\n | \"a\"", {"", "aa", "aaa"}, {"aaaa"}},
  });
}

TEST(Lark, IgnoredTextStandsBetweenTerminalsAndNotInThem) {
  expect_lark({
      {"start: \"a\" NAME\nNAME: \"b\" \"c\"\n%ignore \" \"\n%ignore /\\n/", {"abc", " a  \n bc "}, {"ab c"}},
      {"%import common.INT\n%import common.WS_INLINE -> SPACE\nstart: INT (\",\" INT)*\n%ignore SPACE",
       {"1", "12, 3 ,4"},
       {"", "1,,2", "1 2"}},
      {"%import common (ESCAPED_STRING, SIGNED_NUMBER)\nstart: ESCAPED_STRING | SIGNED_NUMBER",
       {"\"a\\\"b\"", "-1.5e3", "7"},
       {"\"a", "1.5.", "e3"}},
  });
}

TEST(Lark, RulesMayBeginWithThemselves) {
  expect_lark({
      {"start: sum\nsum: sum \"+\" product | sum \"-\" product | product\nproduct: product \"*\" N | N\nN: /[0-9]/",
       {"1", "1+2", "1-2*3+4"},
       {"", "+1", "1+", "12"}},
  });
}

// The grammar of Codex's patches, shortened.
TEST(Lark, APatchIsRead) {
  expect_lark({{R"(start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
update_hunk: "*** Update File: " filename LF change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change: (change_context | change_line)+
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF

%import common.LF
)",
                {"*** Begin Patch\n*** Add File: a.txt\n+one\n+\n*** End Patch",
                 "*** Begin Patch\n*** Update File: b\n@@ f\n-x\n+y\n z\n*** End Patch\n"},
                {"*** Begin Patch\n*** End Patch", "*** Begin Patch\n*** Add File: a\none\n*** End Patch"}}});
}

TEST(Lark, WhatIsWrongIsToldWithItsLine) {
  const auto told = [](const char* source, const std::string& part, ErrorCode code = ErrorCode::kInvalidArgument) {
    const auto rules = parse_lark(source, "tools[1]");
    ASSERT_TRUE(fails_with(rules, code, "", "tools[1]")) << source;
    EXPECT_TRUE(rules.error().message.starts_with("tools[1]: ")) << rules.error().message;
    EXPECT_TRUE(fails_with(rules, part));
  };
  told("", "start");
  told("begin: \"a\"", "start");
  told("start: \"a\"\nstart: \"b\"", "line 2");
  told("start: missing", "missing");
  told("start: \"a", "not closed");
  told("start: /a", "not closed");
  told("start: (\"a\"", "expected )");
  told("start: \"a\" )", "expected the end of the line");
  told("start: start", "itself");
  told("start: a\na: b \"x\"\nb: a | \"y\"", "");
  told("start: \"a\"~3..2", "smaller");
  told("start: \"a\"~99999", "10000");
  told("start: \"z\"..\"a\"", "smaller");
  told("start: /(/", "line 1");
  told("start: &", "unexpected");
  told("start: \"\\q\"", "escape");
  told("start: list{\"a\"}", "templates", ErrorCode::kUnsupported);
  told("%declare X\nstart: X", "declare", ErrorCode::kUnsupported);
  told("%import python.NAME\nstart: NAME", "common", ErrorCode::kUnsupported);
  told("%import common.NONE\nstart: NONE", "NONE", ErrorCode::kUnsupported);
  told("start: /a/i", "flags", ErrorCode::kUnsupported);
  const std::string deep = "start: " + std::string(500, '(') + "\"a\"" + std::string(500, ')');
  told(deep.c_str(), "nested");
}

TEST(RuleCopy, TextsAreSpelledAsInsideAJsonString) {
  const auto rules =
      must(parse_lark("start: \"say \\\"\" WORD \"\\\"\\n\" (\"\\t\" | \"\\u00e9\")\nWORD: /[^a-z]+/", "g"));
  for (const bool is_json : {false, true}) {
    RuleBook book;
    const RuleId root = book.named("root");
    book.define(root, book.sequence({book.literal("<"), copy_rules(book, rules, is_json), book.literal(">")}));
    const auto grammar = compiled(book.take(root));
    EXPECT_EQ(matches(grammar, "<say \"A\\\"\n\t>"), !is_json);
    EXPECT_EQ(matches(grammar, R"(<say \"A\\\"\n\t>)"), is_json);
    EXPECT_EQ(matches(grammar, "<say \\\"A\\\"\\n\xC3\xA9>"), is_json);
    EXPECT_FALSE(matches(grammar, R"(<say \"a\"\n\t>)"));
  }
}

}  // namespace
}  // namespace realizar::grammar
