#include "mcp/server_list.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace realizar::mcp {
namespace {

const Environment kBase = {{"PATH", "/nowhere:/usr/bin:/bin"}, {"HOME", "/root"}};

const HttpAddress& address_of(const ServerSource& source) {
  return std::get<HttpAddress>(source.place);
}

Result<ServerList> read(std::string_view text) {
  ServerList list;
  const Status added = add_server_json(list, text, kBase);
  if (!added.ok()) return added.error();
  return list;
}

TEST(ServerList, NamesAndAddresses) {
  ServerList list;
  ASSERT_TRUE(add_server(list, "files=http://127.0.0.1:3000/mcp?a=b").ok());
  EXPECT_EQ(list.servers[0].name, "files");
  EXPECT_EQ(address_of(list.servers[0]).url.rest, "/mcp?a=b");
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
  EXPECT_EQ(address_of(list->servers[0]).headers, (Headers{{"Authorization", "Bearer s3cret"}}));
  ASSERT_EQ(list->notes.size(), 1u);
  EXPECT_EQ(list->notes[0], "the MCP server 'wiki': 'autoApprove' has no effect here");
}

TEST(ServerList, AProgramHasWhatTheFileNamesAndLittleElse) {
  const auto list = read(R"({"servers": {"local": {"type": "stdio", "command": "sh", "args": ["-c", "exit $X"],
      "env": {"X": "3", "HOME": "/tmp"}, "cwd": "/", "autoApprove": []}}})");
  ASSERT_TRUE(list.ok()) << list.error().message;
  const auto& program = std::get<ProgramSource>(list->servers.at(0).place);
  EXPECT_TRUE(program.path.ends_with("/sh")) << program.path;
  EXPECT_EQ(program.args, (std::vector<std::string>{"-c", "exit $X"}));
  EXPECT_EQ(program.environment, (Environment{{"X", "3"}, {"HOME", "/tmp"}, {"PATH", "/nowhere:/usr/bin:/bin"}}));
  EXPECT_EQ(program.folder, "/");
  EXPECT_EQ(list->notes, (std::vector<std::string>{"the MCP server 'local': 'autoApprove' has no effect here"}));
}

TEST(ServerList, APathLeadsFromTheFolder) {
  const auto list = read(R"({"mcpServers": {"a": {"command": "bin/sh", "cwd": "/"}, "b": {"command": "/bin/sh"}}})");
  ASSERT_TRUE(list.ok()) << list.error().message;
  for (const ServerSource& server : list->servers) EXPECT_EQ(std::get<ProgramSource>(server.place).path, "/bin/sh");
}

TEST(ServerList, AProgramThatIsNotThereIsNamed) {
  const auto list = read(R"({"mcpServers": {"a": {"command": "no-such-program"}}})");
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(list.error().message, "the MCP server 'a': there is no program no-such-program in the folders of PATH");
  EXPECT_FALSE(read(R"({"mcpServers": {"a": {"command": "/proc/self/status"}}})").ok());
}

TEST(ServerList, RefusesWhatIsWrongAndShowsNoSecret) {
  for (const char* wrong : {"",
                            "[]",
                            "{}",
                            R"({"mcpServers": []})",
                            R"({"mcpServers": {"a": 1}})",
                            R"({"mcpServers": {"a": {}}})",
                            R"({"mcpServers": {"a": {"url": "s3cret://b"}}})",
                            R"({"mcpServers": {"a": {"url": "http://b", "type": "sse"}}})",
                            R"({"mcpServers": {"a": {"url": "http://b", "headers": {"X": "s3cret\n"}}}})",
                            R"({"mcpServers": {"a": {"url": "http://b", "headers": {"X": "${s3cret}"}}}})",
                            R"({"mcpServers": {"a": {"url": "http://b", "headers": ["s3cret"]}}})",
                            R"({"mcpServers": {"a": {"url": "http://b", "headers": {"X": "s3cret}}}})",
                            R"({"mcpServers": {"a": {"url": "http://u:s3cret@b"}}})",
                            R"({"mcpServers": {"a": {"command": ["s3cret"]}}})",
                            R"({"mcpServers": {"a": {"command": "sh", "args": "s3cret"}}})",
                            R"({"mcpServers": {"a": {"command": "sh", "args": [1]}}})",
                            R"({"mcpServers": {"a": {"command": "sh", "args": ["${input:s3cret}"]}}})",
                            R"({"mcpServers": {"a": {"command": "sh", "env": {"X": "s3cret\u0000"}}}})",
                            R"({"mcpServers": {"a": {"command": "sh", "env": {"X=": "s3cret"}}}})",
                            R"({"mcpServers": {"a": {"command": "sh", "env": ["s3cret"]}}})",
                            R"({"mcpServers": {"a": {"command": "sh", "type": "http"}}})",
                            R"({"mcpServers": {"a": {"command": "sh", "cwd": "/no/such/folder"}}})"}) {
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
