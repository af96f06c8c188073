#include "server/dialects/responses/response_input.h"

#include <gtest/gtest.h>

#include "base/try.h"
#include "server/call/dialect_test_rig.h"
#include "server/dialects/responses/responses_writer.h"

namespace realizar::server {
namespace {

constexpr uint64_t kEva = 1, kTom = 2;

class ResponseInputTest : public DialectTest {
 protected:
  static Result<ResponseReading> read(const std::string& body, uint64_t tenant = kEva) {
    const Json json = *parse_json(body);
    Fields fields(json);
    rig_->context.tenant = tenant;
    ResponseReading asked(rig_->model(), rig_->context);
    RZ_CHECK_OK(read_response_input(fields, asked));
    return asked;
  }
  // "role: content" for each message, with calls as "name(arguments)".
  static std::string messages_of(const std::string& body) {
    const auto asked = read(body);
    if (!asked.ok()) return asked.error().message;
    std::string text;
    for (const ChatMessage& message : asked->chat.messages) {
      text += template_json(message)["role"].get<std::string>() + ":";
      if (!message.reasoning.empty()) text += " <" + message.reasoning + ">";
      if (!message.content.empty()) text += " " + message.content;
      for (const ChatCall& call : message.calls) text += " " + call.name + "(" + dump(call.arguments) + ")";
      text += "\n";
    }
    return text;
  }
  static std::string messages_of_items(const std::string& items) { return messages_of("{\"input\": [" + items + "]}"); }
  static Error error_of(const std::string& body, uint64_t tenant = kEva) {
    const auto chat = read(body, tenant);
    return chat.ok() ? Error{} : chat.error();
  }
};

TEST_F(ResponseInputTest, ItemsBecomeMessages) {
  EXPECT_EQ(messages_of(R"({"input": "U", "instructions": "S"})"), "system: S\nuser: U\n");
  EXPECT_EQ(
      messages_of_items(R"({"role": "user", "content": "U"}, {"type": "message", "role": "assistant", "id": "msg_1",
      "content": "A"}, {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "R"}]}, {"type": "function_call",
      "call_id": "1", "name": "f", "arguments": "{}"}, {"type": "function_call_output", "call_id": "1", "output": "O"})"),
      "user: U\nassistant: <R> A f({})\ntool: O\n");
  EXPECT_EQ(
      messages_of_items(R"({"role": "user", "content": "U"}, {"type": "reasoning", "summary": [], "content": [{"type":
      "reasoning_text", "text": "R"}]}, {"type": "function_call", "call_id": "1", "name": "f", "arguments": "x"})"),
      "user: U\nassistant: <R> f(\"x\")\n");
}

TEST_F(ResponseInputTest, CallsThatFollowEachOtherAreOneMessage) {
  EXPECT_EQ(messages_of_items(R"({"type": "function_call", "call_id": "1", "name": "f", "arguments": "1"},
      {"type": "function_call", "call_id": "2", "name": "g", "arguments": "2"},
      {"type": "function_call_output", "call_id": "1", "output": {"a": 1}},
      {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "T"}]},
      {"type": "function_call", "call_id": "3", "name": "h", "arguments": "3"})"),
            "assistant: f(\"1\") g(\"2\")\ntool: {\"a\":1}\ntool: T\n"
            "assistant: h(\"3\")\n");
}

TEST_F(ResponseInputTest, ThoughtsStayBeforeTheCallsThatTheyCameBefore) {
  const std::string call = R"({"type": "function_call", "call_id": "1", "name": "f", "arguments": "1"})";
  const auto thought = [](const std::string& fields) { return R"({"type": "reasoning", )" + fields + "}"; };
  const std::string first = thought(R"("summary": [], "content": [{"type": "reasoning_text", "text": "R"}])");
  const std::string second = thought(R"("summary": [{"type": "summary_text", "text": "S"}, {"text": "T"}])");
  EXPECT_EQ(messages_of_items(first + "," + call + "," + second + "," + call),
            "assistant: <R> f(\"1\")\nassistant: <S\n\nT> f(\"1\")\n");
  EXPECT_EQ(messages_of_items(first + R"(,{"role": "assistant", "content": "A"},)" + call + "," + call),
            "assistant: <R> A f(\"1\") f(\"1\")\n");
  EXPECT_EQ(messages_of_items(thought("\"encrypted_content\": \"" + packed_reasoning("P") + "\"") + "," + call),
            "assistant: <P> f(\"1\")\n");
  EXPECT_EQ(messages_of_items(thought(R"("encrypted_content": "gAAAA")") + "," + call), "assistant: f(\"1\")\n");
}

TEST_F(ResponseInputTest, CustomToolsAreNamedAsTheChatNamesThem) {
  const auto chat = read(R"({"input": "U", "tools": [{"type": "custom", "name": "note", "format": {"type": "text"}},
      {"type": "namespace", "name": "n", "tools": [{"type": "custom", "name": "note"}]}],
      "tool_choice": {"type": "custom", "name": "note", "namespace": "n"}})");
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  const ChatTools& tools = chat->chat.tools;
  ASSERT_EQ(tools.custom_names(), (std::vector<std::string>{"note", "n__note"}));
  EXPECT_TRUE(tools.must_call);
  EXPECT_EQ(tools.only, "n__note");
}

TEST_F(ResponseInputTest, CallsOfOtherToolsAreCallsOrLeftOut) {
  EXPECT_EQ(
      messages_of_items(R"({"type": "custom_tool_call", "call_id": "1", "name": "apply_patch", "input": "*** Begin"},
      {"type": "custom_tool_call_output", "call_id": "1", "output": "done"},
      {"type": "local_shell_call", "id": "lsh_1", "call_id": "2", "action": {"type": "exec", "command": ["ls"]}},
      {"type": "local_shell_call_output", "id": "2", "output": "a.txt"},
      {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
      {"type": "file_search_call", "id": "fs_1", "queries": []}, {"type": "mcp_list_tools", "tools": []},
      {"type": "mcp_call", "id": "mcp_1", "name": "find", "arguments": "{}", "output": "found"},
      {"role": "user", "content": "U"})"),
      "assistant: apply_patch({\"input\":\"*** Begin\"})\ntool: done\n"
      "assistant: local_shell({\"type\":\"exec\",\"command\":[\"ls\"]})\ntool: a.txt\n"
      "assistant: find({})\ntool: found\nuser: U\n");
}

TEST_F(ResponseInputTest, FunctionsOfANamespaceAreFunctionsUnderJoinedNames) {
  const std::string tools =
      R"("tools": [{"type": "web_search"}, {"type": "namespace", "name": "files", "description": "D",
      "tools": [{"type": "function", "name": "read", "description": "R", "strict": true},
      {"type": "custom", "name": "patch"}, {"type": "function", "name": "write"}]}, {"type": "function", "name": "read"}])";
  const auto chat = read("{\"input\": \"U\", " + tools + R"(, "tool_choice": {"type": "function", "name": "write"}})");
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  const ChatTools& read_tools = chat->chat.tools;
  std::vector<std::string> names;
  for (const ChatTool& tool : read_tools.tools) names.push_back(tool.spec.name);
  EXPECT_EQ(names, (std::vector<std::string>{"files__read", "files__patch", "files__write", "read"}));
  EXPECT_EQ(dump(read_tools.tools[0].json),
            R"({"type":"function","function":{"name":"files__read","description":"D\n\nR","strict":true}})");
  EXPECT_TRUE(read_tools.tools[0].is_strict && read_tools.tools[1].is_custom);
  EXPECT_EQ(read_tools.tools[2].place, "tools[1].tools[2].parameters");
  EXPECT_EQ(read_tools.tools[3].place, "tools[2].parameters");
  EXPECT_EQ(read_tools.only, "files__write");
  EXPECT_EQ(chat->tool_names.parts_of("files__read").space, "files");
  EXPECT_EQ(messages_of(R"({"input": [{"type": "function_call", "call_id": "1", "namespace": "files", "name": "read",
      "arguments": "1"}, {"type": "function_call", "call_id": "2", "name": "read", "arguments": "2"}], )" +
                        tools + "}"),
            "assistant: files__read(\"1\") read(\"2\")\n");
}

TEST_F(ResponseInputTest, EarlierResponsesComeFirstWithWhatTheyReferTo) {
  rig_->context.responses->put(
      kEva, {"resp_1",
             "",
             R"([{"role": "user", "content": "U1"}])",
             R"({"output": [{"type": "message", "id": "msg_1", "role": "assistant", "content": "A1"}]})",
             {"msg_1"}});
  rig_->context.responses->put(
      kEva, {"resp_2",
             "resp_1",
             R"([{"role": "user", "content": "U2"}])",
             R"({"output": [{"type": "message", "id": "msg_2", "role": "assistant", "content": "A2"}]})",
             {"msg_2"}});
  const std::string chain = "user: U1\nassistant: A1\nuser: U2\nassistant: A2\nuser: U3\n";
  EXPECT_EQ(messages_of(R"({"previous_response_id": "resp_2", "input": "U3"})"), chain);
  for (const char* reference : {R"({"type": "item_reference", "id": "msg_1"})", R"({"id": "msg_1"})"}) {
    EXPECT_EQ(messages_of_items(R"({"role": "user", "content": "U1"}, )" + std::string(reference)),
              "user: U1\nassistant: A1\n");
  }
}

TEST_F(ResponseInputTest, WhatIsNotThereOrAnothersIsNotFound) {
  rig_->context.responses->put(
      kEva, {"resp_1", "resp_0", "[]", R"({"output": [{"type": "message", "id": "msg_1"}]})", {"msg_1"}});
  const Error reference = error_of(R"({"input": [{"type": "item_reference", "id": "msg_1"}]})", kTom);
  EXPECT_EQ(reference.code, ErrorCode::kNotFound);
  EXPECT_EQ(reference.subject, "input[0].id");
  EXPECT_NE(reference.message.find("store"), std::string::npos) << reference.message;
  for (const uint64_t tenant : {kEva, kTom}) {  // Ann's refers to a deleted response
    const Error previous = error_of(R"({"input": "U", "previous_response_id": "resp_1"})", tenant);
    EXPECT_EQ(previous.code, ErrorCode::kNotFound);
    EXPECT_EQ(previous.subject, "previous_response_id");
  }
}

TEST_F(ResponseInputTest, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"input": 5})", "input"},
      {R"({"input": [5]})", "input[0]"},
      {R"({"input": [{"type": 5}]})", "input[0].type"},
      {R"({"input": [{"type": "telegram"}]})", "input[0].type"},
      {R"({"input": [{"role": "user", "content": "U"}, {"type": "function_call", "call_id": "1"}]})", "input[1].name"},
      {R"({"input": "U", "instructions": 5})", "instructions"},
      {R"({"input": "U", "previous_response_id": 5})", "previous_response_id"},
      {R"({"input": "U", "conversation": "conv_1"})", "conversation"},
      {R"({"input": "U", "prompt": {"id": "p"}})", "prompt"},
      {R"({"input": "U", "n": 2})", "n"},
      {R"({"input": "U", "text": 5})", "text"},
      {R"({"input": "U", "tools": [{"type": "namespace", "tools": []}]})", "tools[0].name"},
      {R"({"input": "U", "tools": [{"type": "namespace", "name": "n"}]})", "tools[0].tools"},
      {R"({"input": "U", "tool_choice": {"type": "web_search"}})", "tool_choice.type"},
      {R"({"input": [{"type": "web_search_call"}]})", "input"},
      {R"({"input": [{"type": "web_search_call"}, {"role": "king", "content": "U"}]})", "input[1].role"},
      {R"({"input": [{"role": "user", "content": ["x"]}]})", "input[0].content[0]"},
      {R"({"input": [{"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text"}]}]})",
       "input[0].output[0]"},
      {R"({"input": "U", "instructions": "S", "tools": [{"type": "web_search"}, {"type": "function", "name": "a b"}]})",
       "tools[1].name"},
      {R"({"input": "U", "tools": [{"type": "function", "name": "f", "parameters": 5}]})", "tools[0].parameters"},
      {R"({"input": "U", "text": {"format": {"type": "yaml"}}})", "text.format.type"},
      {R"({"input": "U", "reasoning": {"effort": 5}})", "reasoning.effort"},
  };
  for (const auto& [body, field] : wrong) EXPECT_EQ(error_of(body).subject, field) << body;
}

TEST_F(ResponseInputTest, WhatTurnsOutWrongLaterIsNamedByTheClientsOwnFields) {
  const auto asked = read(R"({"input": "U", "tools": [{"type": "web_search"}, {"type": "function", "name": "f"}],
      "text": {"format": {"type": "json_schema", "schema": {}}}, "reasoning": {"effort": "low"}})");
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  EXPECT_EQ(asked->chat.tools.tools[0].place, "tools[1].parameters");
  EXPECT_EQ(asked->chat.form.where, "text.format.schema");
  EXPECT_EQ(asked->chat.effort_field, "reasoning.effort");
  EXPECT_EQ(asked->chat.messages_field, "input");
}

}  // namespace
}  // namespace realizar::server
