#include "mcp/json_rpc.h"

#include <gtest/gtest.h>

namespace realizar::mcp {
namespace {

using Kind = Message::Kind;

TEST(JsonRpc, TellsMessagesApart) {
  const auto messages = read_messages(R"([{"jsonrpc": "2.0", "id": 1, "result": {"a": 2}},
      {"jsonrpc": "2.0", "id": "x", "error": {"code": -32602, "message": "no"}},
      {"jsonrpc": "2.0", "id": 5, "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/message"}])");
  ASSERT_TRUE(messages.ok()) << messages.error().message;
  ASSERT_EQ(messages->size(), 4u);
  EXPECT_EQ(messages->at(0).kind, Kind::kResult);
  EXPECT_EQ(messages->at(0).result["a"], 2);
  EXPECT_EQ(messages->at(1).kind, Kind::kError);
  EXPECT_EQ(messages->at(1).error.code, -32602);
  EXPECT_EQ(messages->at(1).error.message, "no");
  EXPECT_EQ(messages->at(2).kind, Kind::kRequest);
  EXPECT_EQ(messages->at(3).kind, Kind::kNotification);
}

TEST(JsonRpc, RefusesWhatIsNone) {
  for (const char* wrong :
       {"", "{", "1", "{}", R"({"id": 1, "result": {}})", R"({"jsonrpc": "1.0", "id": 1, "result": {}})",
        R"({"jsonrpc": "2.0", "result": {}})", R"({"jsonrpc": "2.0", "id": null, "method": "ping"})",
        R"({"jsonrpc": "2.0", "id": {}, "method": "ping"})", R"({"jsonrpc": "2.0", "method": 1})", "[1]", "\"\xff\""}) {
    EXPECT_FALSE(read_messages(wrong).ok()) << wrong;
  }
}

TEST(JsonRpc, BoundsDepthValuesAndMembers) {
  const auto nested = [](size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse_json(nested(64)).ok());
  EXPECT_FALSE(parse_json(nested(65)).ok());
  std::string values = "[0", members = "{\"0\":0";
  for (int i = 1; i < 49'999; ++i) values += ",0";
  for (int i = 1; i < 2000; ++i) members += ",\"" + std::to_string(i) + "\":0";
  EXPECT_TRUE(parse_json(values + "]").ok());
  EXPECT_FALSE(parse_json(values + ",0]").ok());
  EXPECT_TRUE(parse_json(members + "}").ok());
  EXPECT_FALSE(parse_json(members + ",\"more\":0}").ok());
}

TEST(JsonRpc, AnswersPingAndNothingElseOfAServer) {
  const auto asked = read_messages(R"([{"jsonrpc": "2.0", "id": "p", "method": "ping"},
      {"jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage"}])");
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(reply_text(asked->at(0)), R"({"jsonrpc":"2.0","id":"p","result":{}})");
  EXPECT_EQ(reply_text(asked->at(1)),
            R"({"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"Method not found"}})");
}

TEST(JsonRpc, SpellsRequestsAndNotifications) {
  EXPECT_EQ(request_text(3, "tools/list", {{"cursor", "c"}}),
            R"({"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"c"}})");
  EXPECT_EQ(request_text(std::nullopt, "notifications/initialized", {}),
            R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
}

}  // namespace
}  // namespace realizar::mcp
