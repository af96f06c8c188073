#include "server/dialects/openai/chat_fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/try.h"
#include "server/call/dialect_test_rig.h"

namespace realizar::server {
namespace {

class LegacyFunctions : public DialectTest {
 protected:
  static constexpr const char* kMessages = R"("messages": [{"role": "user", "content": "U"}], )";

  static Result<OpenAiChat> read(const std::string& fields, const std::string& messages = kMessages) {
    const Json json = *parse_json("{" + messages + fields + "}");
    Fields body(json);
    OpenAiChat chat(rig_->model(), rig_->context);
    RZ_CHECK_OK(read_function_fields(body, chat));
    RZ_CHECK_OK(read_openai_chat(body, chat));
    return chat;
  }
  static std::string wrong_field(const std::string& fields, const std::string& messages = kMessages) {
    const auto chat = read(fields, messages);
    return chat.ok() ? "none" : chat.error().subject;
  }
};

TEST_F(LegacyFunctions, BecomeTools) {
  const auto chat = read(R"("functions": [{"name": "f", "parameters": {}}], "function_call": {"name": "f"})");
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  const ChatTools& tools = chat->chat.tools;
  ASSERT_EQ(tools.tools.size(), 1u);
  EXPECT_EQ(dump(tools.tools[0].json), R"({"type":"function","function":{"name":"f","parameters":{}}})");
  EXPECT_TRUE(tools.must_call);
  EXPECT_EQ(tools.only, "f");
  EXPECT_FALSE(chat->chat.parallel_calls);
  EXPECT_TRUE(chat->has_functions);
  const auto none = read(R"("functions": [{"name": "f"}], "function_call": "none")");
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_TRUE(none->chat.tools.tools.empty());
  EXPECT_FALSE(read(R"("function_call": "auto", "functions": null)")->has_functions);
}

// Cursor's agents send these.
TEST_F(LegacyFunctions, ItemsAndToolsOfTheResponsesApiAreTaken) {
  const auto chat = read(R"("tools": [{"type": "function", "name": "f", "parameters": {}, "strict": false}],
      "tool_choice": {"type": "function", "name": "f"}, "input": [
      {"role": "system", "content": "S"}, {"role": "user", "content": [{"type": "input_text", "text": "U"}]},
      {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"x\": 1}"},
      {"type": "function_call_output", "call_id": "c1", "output": "R"}])",
                         "");
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  const std::vector<ChatMessage>& messages = chat->chat.messages;
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[1].content, "U");
  EXPECT_EQ(messages[2].calls[0].arguments["x"], 1);
  EXPECT_EQ(messages[3].tool_call_id, messages[2].calls[0].id);
  EXPECT_EQ(dump(chat->chat.tools.tools[0].json),
            R"({"type":"function","function":{"name":"f","parameters":{},"strict":false}})");
  EXPECT_EQ(chat->chat.tools.only, "f");
  EXPECT_EQ(wrong_field(R"("input": [{"type": "computer_call"}])", ""), "input[0].type");
  EXPECT_EQ(wrong_field(R"("input": "x")"), "input");
}

TEST_F(LegacyFunctions, CallsOfTheHistoryHaveTheirResults) {
  const auto chat = read(R"("messages": [
      {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}},
      {"role": "function", "name": "f", "content": "1"},
      {"role": "assistant", "function_call": {"name": "g", "arguments": "{}"}},
      {"role": "function", "name": "g", "content": "2"}])",
                         "");
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  const std::vector<ChatMessage>& messages = chat->chat.messages;
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0].calls[0].name, "f");
  EXPECT_FALSE(messages[0].more.contains("function_call"));
  EXPECT_EQ(messages[1].role, Role::kTool);
  EXPECT_EQ(messages[1].tool_call_id, messages[0].calls[0].id);
  EXPECT_EQ(messages[3].tool_call_id, messages[2].calls[0].id);
  EXPECT_NE(messages[1].tool_call_id, messages[3].tool_call_id);
}

TEST_F(LegacyFunctions, WrongOnesAreNamed) {
  EXPECT_EQ(wrong_field(R"("functions": {})"), "functions");
  EXPECT_EQ(wrong_field(R"("functions": [{"name": "f"}, {}])"), "functions[1].name");
  EXPECT_EQ(wrong_field(R"("functions": [], "tools": [])"), "functions");
  EXPECT_EQ(wrong_field(R"("function_call": "required")"), "function_call");
  EXPECT_EQ(wrong_field(R"("function_call": "auto", "tool_choice": "auto")"), "function_call");
  EXPECT_EQ(wrong_field(R"("functions": [{"name": "f"}], "function_call": {"name": "g"})"), "function_call");
  EXPECT_EQ(wrong_field(R"("messages": [{"role": "assistant", "function_call": {}}])", ""),
            "messages[0].function_call");
}

}  // namespace
}  // namespace realizar::server
