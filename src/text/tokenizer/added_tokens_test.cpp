#include "text/tokenizer/added_tokens.h"

#include <gtest/gtest.h>

namespace realizar::text {
namespace {

std::string show(const AddedTokenMatcher& matcher, std::string_view text, std::vector<TextRange> special_ranges) {
  std::vector<AddedTokenMatcher::Segment> segments;
  matcher.split(text, special_ranges, segments);
  std::string shown;
  for (const auto& [range, id] : segments) {
    shown += "[";
    if (id != kNoToken) shown.append(std::to_string(to_index(id))).append(":");
    shown.append(text.substr(range.begin, range.end - range.begin)).append("]");
  }
  return shown;
}

std::string show(const AddedTokenMatcher& matcher, std::string_view text) {
  return show(matcher, text, {{0, text.size()}});
}

TEST(AddedTokens, TakesTheLongestOfTheLeftmost) {
  const AddedTokenMatcher matcher({{TokenId{1}, "<a"}, {TokenId{2}, "<a>"}, {TokenId{3}, ">b"}});
  EXPECT_EQ(show(matcher, "x<a>b<a"), "[x][2:<a>][b][1:<a]");
  EXPECT_EQ(show(matcher, ""), "");
  EXPECT_EQ(show(matcher, "<"), "[<]");
  EXPECT_EQ(show(AddedTokenMatcher(), "abc"), "[abc]");
}

TEST(AddedTokens, SpecialTokensLieInsideOneAllowedRange) {
  const AddedTokenMatcher matcher({{.id = TokenId{1}, .content = "<s>", .special = true},
                                   {.id = TokenId{2}, .content = "<s><s>", .special = true},
                                   {.id = TokenId{3}, .content = "user"}});
  EXPECT_EQ(show(matcher, "<s>user<s>", {}), "[<s>][3:user][<s>]");
  EXPECT_EQ(show(matcher, "<s>user<s>", {{0, 4}}), "[1:<s>][3:user][<s>]");
  EXPECT_EQ(show(matcher, "<s>user<s>", {{1, 10}}), "[<s>][3:user][1:<s>]");
  EXPECT_EQ(show(matcher, "<s><s>", {{0, 5}}), "[1:<s>][<s>]");
  EXPECT_EQ(show(matcher, "<s><s>", {{0, 6}}), "[2:<s><s>]");
  EXPECT_EQ(show(matcher, "<s><s>", {{0, 4}, {4, 6}}), "[1:<s>][<s>]");
}

TEST(AddedTokens, SingleWordIsNotPartOfAWord) {
  const AddedTokenMatcher matcher({{.id = TokenId{1}, .content = "cat", .single_word = true}});
  EXPECT_EQ(show(matcher, "cat, cats concat cat"), "[1:cat][, cats concat ][1:cat]");
  EXPECT_EQ(show(matcher, "\u00E9cat"), "[\u00E9cat]");
  EXPECT_EQ(show(matcher, "cat\u00E9"), "[cat\u00E9]");
}

TEST(AddedTokens, StripsTakeWhiteSpaceButNoTokenBefore) {
  const AddedTokenMatcher matcher(
      {{.id = TokenId{1}, .content = "<l>", .lstrip = true}, {.id = TokenId{2}, .content = "<r>", .rstrip = true}});
  EXPECT_EQ(show(matcher, "a \t\u00A0<l> b"), "[a][1: \t\u00A0<l>][ b]");
  EXPECT_EQ(show(matcher, "a <r> \n<l>b"), "[a ][2:<r> \n][1:<l>][b]");
}

}  // namespace
}  // namespace realizar::text
