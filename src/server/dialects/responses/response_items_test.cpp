#include "server/dialects/responses/response_items.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

Json items(const std::string& text) {
  return *parse_json(text);
}

std::string ids_of(const Json& list) {
  std::string ids;
  for (const Json& item : list) ids += item["id"].get<std::string>();
  return ids;
}

StoredResponsePtr stored(const std::string& input, const std::string& output) {
  return std::make_shared<const StoredResponse>(StoredResponse{"r", "", input, R"({"output": )" + output + "}", {}});
}

TEST(ResponseItems, AreCompletedWhereTheClientLeftThingsOut) {
  Json list = items(R"([{"role": "user", "content": "U"}, {"role": "assistant", "content": "A"},
      {"type": "function_call_output", "call_id": "1", "output": "O"}])");
  const std::vector<std::string> ids = complete_items(list);
  ASSERT_EQ(ids.size(), 3u);
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(list[i]["id"], ids[i]);
    EXPECT_EQ(list[i]["status"], "completed");
  }
  EXPECT_TRUE(ids[0].starts_with("msg_"));
  EXPECT_TRUE(ids[2].starts_with("fco_"));
  EXPECT_EQ(list[0]["type"], "message");
  EXPECT_EQ(dump(list[0]["content"]), R"([{"type":"input_text","text":"U"}])");
  EXPECT_EQ(dump(list[1]["content"]), R"([{"type":"output_text","text":"A","annotations":[]}])");
}

TEST(ResponseItems, KeepWhatTheyHave) {
  const Json given = items(R"([{"id": "msg_1", "type": "message", "role": "user", "content":
      [{"type": "input_text", "text": "U"}], "status": "incomplete"}, {"id": "fc_1", "type": "function_call",
      "call_id": "1", "name": "f", "arguments": "", "status": "completed"}])");
  Json list = given;
  EXPECT_TRUE(complete_items(list).empty());
  EXPECT_EQ(list, given);
}

TEST(ResponseItems, OfAChainEndWithTheLastInput) {
  const auto first = stored(R"([{"id": "a"}])", R"([{"id": "b"}])"),
             last = stored(R"([{"id": "c"}])", R"([{"id": "d"}])");
  EXPECT_EQ(ids_of(*items_of(*first)), "ab");
  EXPECT_EQ(ids_of(*input_items_of({first, last})), "abc");
  EXPECT_EQ(ids_of(*input_items_of({last})), "c");
}

TEST(ResponseItems, AreListedPageByPage) {
  const Json all = items(R"([{"id": "a"}, {"id": "b"}, {"id": "c"}])");
  const auto page = [&](const std::string& query) { return *list_items(all, *read_items_query(query)); };
  EXPECT_EQ(ids_of(page("")["data"]), "cba");
  EXPECT_EQ(ids_of(page("order=asc")["data"]), "abc");
  const Json first = page("order=asc&limit=2&include[]=x");
  EXPECT_EQ(dump(first),
            R"({"object":"list","data":[{"id":"a"},{"id":"b"}],"first_id":"a","last_id":"b","has_more":true})");
  EXPECT_EQ(dump(page("limit=2&order=asc&after=b")),
            R"({"object":"list","data":[{"id":"c"}],"first_id":"c","last_id":"c","has_more":false})");
  EXPECT_EQ(dump(page("after=%61")), R"({"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false})");
}

TEST(ResponseItems, AreNotListedByAWrongQuery) {
  for (const auto& [query, field] : {std::pair("limit=0", "limit"),
                                     {"limit=101", "limit"},
                                     {"limit=-1", "limit"},
                                     {"limit=2x", "limit"},
                                     {"limit=", "limit"},
                                     {"limit", "limit"},
                                     {"order=up", "order"}}) {
    const auto read = read_items_query(query);
    ASSERT_FALSE(read.ok()) << query;
    EXPECT_EQ(read.error().subject, field);
  }
  const auto list = list_items(items(R"([{"id": "a"}])"), {.after = "b"});
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().subject, "after");
}

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
