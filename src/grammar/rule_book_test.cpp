#include "grammar/rule_book.h"

#include <gtest/gtest.h>

#include "base/result_checks.h"
#include "grammar/test_support.h"

namespace realizar::grammar {
namespace {

std::shared_ptr<const Grammar> grammar_of(RuleBook& book, ExprId body) {
  const RuleId root = book.named("root");
  book.define(root, body);
  return must(Grammar::from_rules(book.take(root)));
}

TEST(RuleBook, AnExpressionMayStandInSeveralPlaces) {
  RuleBook book;
  const ExprId digit = book.char_of({{'0', '9'}}), dot = book.literal(".");
  const ExprId two = book.sequence({digit, digit});
  const ExprId more = book.optional(book.sequence({dot, two}));
  const auto grammar = grammar_of(book, book.choice({book.sequence({two, more}), book.repeat(dot, 1, 2)}));
  ASSERT_NE(grammar, nullptr);
  for (const char* text : {"12", "12.34", ".", ".."}) EXPECT_TRUE(matches(grammar, text)) << text;
  for (const char* text : {"", "1", "12.", "12.3", "...", "12.34.56"}) EXPECT_FALSE(matches(grammar, text)) << text;
}

TEST(RuleBook, SharedRulesBringWhatTheyUse) {
  RuleBook book;
  const ExprId value = book.shared("value");
  const size_t n_rules = book.n_rules();
  const ExprId again = book.shared("value");
  EXPECT_TRUE(book.is_same(value, again));
  EXPECT_EQ(book.n_rules(), n_rules);
  const auto grammar = grammar_of(book, value);
  ASSERT_NE(grammar, nullptr);
  EXPECT_TRUE(matches(grammar, R"([{"a": "\ud83d\ude00"}, -1.5e3, null])"));
  EXPECT_FALSE(matches(grammar, R"(["\ud83d"])"));
}

TEST(RuleBook, NamesOfRulesDiffer) {
  RuleBook book;
  const RuleId first = book.reserve("a b"), second = book.reserve("a b"), third = book.reserve("");
  EXPECT_EQ(book.rule(first).name, "a-b-1");
  EXPECT_EQ(book.rule(second).name, "a-b-2");
  EXPECT_EQ(book.rule(third).name, "rule-3");
}

TEST(RuleBook, EqualExpressionsAreTold) {
  RuleBook book;
  const auto expr = [&](const char* word, uint64_t max) {
    return book.sequence({book.repeat(book.literal(word), 0, max), book.char_of({{'a', 'z'}})});
  };
  EXPECT_TRUE(book.is_same(expr("x", 3), expr("x", 3)));
  EXPECT_FALSE(book.is_same(expr("x", 3), expr("y", 3)));
  EXPECT_FALSE(book.is_same(expr("x", 3), expr("x", 4)));
}

TEST(RuleBook, RulesThatNobodyWroteHaveNoLine) {
  RuleBook book;
  const RuleId root = book.named("root");
  book.define(root, book.choice({book.sequence({book.call(root), book.literal("x")}), book.literal("y")}));
  const auto grammar = Grammar::from_rules(book.take(root));
  ASSERT_FALSE(grammar.ok());
  EXPECT_EQ(grammar.error().message, "rule \"root\" is left-recursive; write it with a repetition");
}

}  // namespace
}  // namespace realizar::grammar
