#include "mcp/tool.h"
#include "base/json_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace realizar::mcp {
namespace {

Json tool(const Json& name, const Json& schema = {{"type", "object"}}) {
  return {{"name", name}, {"description", "Does it."}, {"inputSchema", schema}};
}

ToolList list_of(const Json& tools) {
  ToolList list;
  EXPECT_TRUE(add_tools(list, "files", {{"tools", tools}}).ok());
  return list;
}

TEST(Tools, HaveNamesThatModelsMayCall) {
  const std::string longest(128, 'x');
  const ToolList list = list_of({tool("read"), tool("a.b"), tool("a_b"), tool(longest), tool(longest.substr(1))});
  ASSERT_EQ(list.tools.size(), 5u);
  EXPECT_EQ(list.notes.size(), 0u);
  EXPECT_EQ(list.tools[0].call_name, "files__read");
  EXPECT_TRUE(list.tools[1].call_name.starts_with("files__a_b_")) << list.tools[1].call_name;
  EXPECT_EQ(list.tools[1].call_name.size(), std::string("files__a_b_").size() + 16);
  EXPECT_EQ(list.tools[2].call_name, "files__a_b");
  for (const size_t i : {3, 4}) {
    EXPECT_TRUE(list.tools[i].call_name.starts_with("files__" + std::string(40, 'x') + "_"));
    EXPECT_EQ(list.tools[i].call_name.size(), 64u);
  }
  EXPECT_NE(list.tools[3].call_name, list.tools[4].call_name);
  EXPECT_EQ(list.tools[1].name, "a.b");
}

TEST(Tools, HaveTheSameCallNamesInWhateverOrderAndPagesTheServerListsThem) {
  std::vector<Json> tools{tool("a.b"),
                          tool("a_b"),
                          tool("a..b"),
                          tool("a__b"),
                          tool("c.d"),
                          tool(std::string(70, 'x')),
                          tool(std::string(71, 'x'))};
  const auto names_of = [](const ToolList& list) {
    std::map<std::string, std::string> names;
    for (const Tool& one : list.tools) names[one.call_name] = one.name;
    return names;
  };
  const auto expected = names_of(list_of(tools));
  EXPECT_EQ(expected.size(), tools.size());
  EXPECT_EQ(expected.at("files__c_d"), "c.d");
  EXPECT_EQ(expected.at("files__a_b"), "a_b");
  for (size_t n_turned = 0; n_turned < tools.size(); ++n_turned) {
    std::ranges::rotate(tools, tools.begin() + 1);
    EXPECT_EQ(names_of(list_of(tools)), expected);
    ToolList paged;
    for (const Json& one : tools) {
      ASSERT_TRUE(add_tools(paged, "files", {{"tools", Json::array({one})}}).ok());
    }
    EXPECT_EQ(names_of(paged), expected);
  }
}

TEST(Tools, WhoseCallNameIsAnothersOwnAreLeftOut) {
  const ToolList two = list_of({tool("a.b"), tool("a_b")});
  const std::string hashed = two.tools[0].call_name.substr(std::string("files__").size());
  const ToolList list = list_of({tool("a.b"), tool("a_b"), tool(hashed)});
  ASSERT_EQ(list.tools.size(), 2u);
  EXPECT_EQ(list.tools[1].name, hashed);
  EXPECT_EQ(list.notes.size(), 1u);
}

TEST(Tools, AreLeftOutByNameWhereTheyBreakTheProtocol) {
  Json deep = {{"type", "object"}, {"description", std::string(33'000, 'x')}};
  const ToolList list = list_of({tool("ok"),
                                 tool("ok"),
                                 tool("two words"),
                                 tool("\x1b[2J"),
                                 tool(""),
                                 tool(1),
                                 7,
                                 tool("s", "object"),
                                 tool("s", {{"type", "array"}}),
                                 tool("s", deep),
                                 {{"name", "d"}, {"description", 1}, {"inputSchema", {{"type", "object"}}}},
                                 tool(std::string(129, 'x'))});
  ASSERT_EQ(list.tools.size(), 1u);
  EXPECT_EQ(list.notes.size(), 11u);
  for (const std::string& note : list.notes) EXPECT_EQ(note.find('\x1b'), std::string::npos) << note;
}

TEST(Tools, ThatWantArgumentsAsHeadersAreLeftOutWhereThatMeansSomething) {
  const Json schema = {{"type", "object"},
                       {"properties", {{"region", {{"type", "string"}, {"x-mcp-header", "Region"}}}}}};
  for (const auto headers : {ArgumentHeaders::kUnknown, ArgumentHeaders::kRefused}) {
    ToolList list;
    ASSERT_TRUE(add_tools(list, "files", {{"tools", Json::array({tool("a", schema), tool("b")})}}, headers).ok());
    EXPECT_EQ(list.tools.size(), headers == ArgumentHeaders::kUnknown ? 2u : 1u);
  }
}

TEST(Tools, HaveABound) {
  Json many = Json::array();
  for (int i = 0; i < 1000; ++i) many.push_back(tool("t" + std::to_string(i)));
  const ToolList list = list_of(many);
  EXPECT_EQ(list.tools.size(), 128u);
  EXPECT_EQ(list.notes.size(), 1u);
}

TEST(Tools, APageMustBeOne) {
  ToolList list;
  for (const Json& wrong : {Json(), Json(1), Json::object(), Json{{"tools", 1}}}) {
    EXPECT_FALSE(add_tools(list, "files", wrong).ok()) << wrong;
  }
}

TEST(Tools, ServersHaveNamesThatKeepThemApart) {
  for (const char* name : {"a", "my-server", "a_b", "S1"}) EXPECT_TRUE(is_server_name(name)) << name;
  for (const char* name : {"", "a__b", "a_", "a b", "a.b", "ä", "123456789012345678901234567890123"}) {
    EXPECT_FALSE(is_server_name(name)) << name;
  }
}

TEST(Tools, AreFoundWithoutTheirServersNameWhereThatNamesOne) {
  ToolList a, b;
  ASSERT_TRUE(add_tools(a, "a", {{"tools", Json::array({tool("read"), tool("sum.of"), tool("x__y")})}}).ok());
  ASSERT_TRUE(add_tools(b, "b", {{"tools", Json::array({tool("read"), tool("write")})}}).ok());
  std::vector<const Tool*> tools;
  for (const ToolList* list : {&a, &b}) {
    for (const Tool& one : list->tools) tools.push_back(&one);
  }
  const auto found = [&](const char* name) {
    const size_t idx = find_tool(tools, name);
    return idx == tools.size() ? std::string() : tools[idx]->call_name;
  };
  EXPECT_EQ(found("b__read"), "b__read");
  EXPECT_EQ(found("write"), "b__write");
  EXPECT_EQ(found("sum.of"), "a__sum_of");
  EXPECT_EQ(found("sum_of"), "a__sum_of");
  EXPECT_EQ(found("x__y"), "a__x__y");
  EXPECT_EQ(found("read"), "") << "both have it";
  for (const char* name : {"y", "rite", "a", "a__write", ""}) EXPECT_EQ(found(name), "") << name;
  EXPECT_EQ(no_such_tool(tools, "y"),
            "there is no tool called y; the tools are a__read, a__sum_of, a__x__y, b__read, b__write");
}

TEST(Tools, ThatAreManyAreNotAllTold) {
  std::vector<Tool> all(34);
  std::vector<const Tool*> tools;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].call_name = "s__t" + std::to_string(i);
    tools.push_back(&all[i]);
  }
  EXPECT_TRUE(no_such_tool(tools, "y").ends_with("s__t30, s__t31 and 2 more"));
}

TEST(Tools, AreToldAsFunctions) {
  const Json json = tools_json(list_of(Json::array({tool("read")})).tools);
  EXPECT_EQ(json_text(json), R"([{"type":"function","function":{"name":"files__read","description":"Does it.",)"
                             R"("parameters":{"type":"object"}}}])");
}

}  // namespace
}  // namespace realizar::mcp
