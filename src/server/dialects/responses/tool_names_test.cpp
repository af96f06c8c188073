#include "server/dialects/responses/tool_names.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

std::string told(const ToolNames& names, const std::string& joined) {
  const auto [space, name] = names.parts_of(joined);
  return space + "|" + name;
}

TEST(ToolNames, AreJoinedAndToldBackAsTheyCame) {
  ToolNames names;
  EXPECT_EQ(names.add("", "read"), "read");
  EXPECT_EQ(names.add("mcp__files", "read"), "mcp__files__read");
  EXPECT_EQ(names.add("mcp__web__", "read"), "mcp__web__read");
  EXPECT_EQ(names.add("my app.v2", "go"), "my_app_v2__go");
  EXPECT_EQ(told(names, "read"), "|read");
  EXPECT_EQ(told(names, "mcp__files__read"), "mcp__files|read");
  EXPECT_EQ(told(names, "mcp__web__read"), "mcp__web__|read");
  EXPECT_EQ(told(names, "my_app_v2__go"), "my app.v2|go");
  EXPECT_EQ(told(names, "other"), "|other");
}

TEST(ToolNames, AreUniqueAndNotTooLong) {
  ToolNames names;
  names.add("", "a__b");
  EXPECT_EQ(names.add("a", "b"), "a__b_2");
  EXPECT_EQ(names.add("a__", "b"), "a__b_3");
  EXPECT_EQ(told(names, "a__b"), "|a__b");
  EXPECT_EQ(told(names, "a__b_3"), "a__|b");
  const std::string space(50, 's');
  const std::string one = names.add(space, "a_function_with_a_name"),
                    other = names.add(space, "a_function_with_another");
  EXPECT_EQ(one.size(), 64u);
  EXPECT_EQ(other.size(), 64u);
  EXPECT_NE(one, other);
  EXPECT_EQ(told(names, other), space + "|a_function_with_another");
}

TEST(ToolNames, OfCallsAreFoundAsTheToolsAre) {
  ToolNames names;
  names.add("", "read");
  names.add("files", "read");
  names.add("files", "write");
  EXPECT_EQ(names.find("files", "read"), "files__read");
  EXPECT_EQ(names.find("", "read"), "read");
  EXPECT_EQ(names.find("", "write"), "files__write");
  EXPECT_EQ(names.find("", "gone"), "gone");
  EXPECT_EQ(names.find("gone", "read"), "gone__read");
}

}  // namespace
}  // namespace realizar::server
