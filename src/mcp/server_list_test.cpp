#include "mcp/server_list.h"

#include <gtest/gtest.h>

namespace realizar::mcp {
namespace {

Result<ServerList> read(std::string_view text) {
  ServerList list;
  const Status added = add_server_json(list, text);
  if (!added.ok()) return added.error();
  return list;
}

TEST(ServerList, NamesAndAddresses) {
  ServerList list;
  ASSERT_TRUE(add_server(list, "files=http://127.0.0.1:3000/mcp?a=b").ok());
  EXPECT_EQ(list.servers[0].name, "files");
  EXPECT_EQ(list.servers[0].url.rest, "/mcp?a=b");
  for (const char* wrong : {"files=http://b/", "http://b/", "=http://b/", "a b=http://b/", "c=ftp://b", "d="}) {
    EXPECT_FALSE(add_server(list, wrong).ok()) << wrong;
  }
  EXPECT_EQ(list.servers.size(), 1u);
}

TEST(ServerList, AFileHasHeadersAndIsOfOtherClients) {
  const auto list = read(R"({"mcpServers": {"wiki": {"type": "http", "url": "https://wiki.example/mcp",
      "headers": {"Authorization": "Bearer s3cret"}, "autoApprove": ["search"]},
      "old": {"url": "http://old.example", "disabled": true}}, "other": 1})");
  ASSERT_TRUE(list.ok()) << list.error().message;
  ASSERT_EQ(list->servers.size(), 1u);
  EXPECT_EQ(list->servers[0].headers, (Headers{{"Authorization", "Bearer s3cret"}}));
  ASSERT_EQ(list->notes.size(), 1u);
  EXPECT_EQ(list->notes[0], "the MCP server 'wiki': 'autoApprove' has no effect here");
}

TEST(ServerList, AProgramIsRefusedByName) {
  const auto list = read(R"({"mcpServers": {"local": {"command": "npx", "args": ["x"]}}})");
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(list.error().message,
            "the MCP server 'local' is a program to be started: only servers with a url can be used");
}

TEST(ServerList, RefusesWhatIsWrongAndShowsNoSecret) {
  for (const char* wrong : {"", "[]", "{}", R"({"mcpServers": []})", R"({"mcpServers": {"a": 1}})",
                            R"({"mcpServers": {"a": {}}})", R"({"mcpServers": {"a": {"url": "s3cret://b"}}})",
                            R"({"mcpServers": {"a": {"url": "http://b", "type": "sse"}}})",
                            R"({"mcpServers": {"a": {"url": "http://b", "headers": {"X": "s3cret\n"}}}})",
                            R"({"mcpServers": {"a": {"url": "http://b", "headers": {"X": "${s3cret}"}}}})",
                            R"({"mcpServers": {"a": {"url": "http://b", "headers": ["s3cret"]}}})",
                            R"({"mcpServers": {"a": {"url": "http://b", "headers": {"X": "s3cret}}}})",
                            R"({"mcpServers": {"a": {"url": "http://u:s3cret@b"}}})"}) {
    const auto list = read(wrong);
    EXPECT_FALSE(list.ok()) << wrong;
    if (list.ok()) continue;
    EXPECT_EQ(list.error().message.find("s3cret"), std::string::npos) << list.error().message;
  }
}

TEST(ServerList, HasABound) {
  ServerList list;
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(add_server(list, "s" + std::to_string(i) + "=http://a").ok());
  EXPECT_FALSE(add_server(list, "s16=http://a").ok());
}

}  // namespace
}  // namespace realizar::mcp
