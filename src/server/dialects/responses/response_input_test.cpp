#include "server/dialects/responses/response_input.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/dialects/responses/response_speller.h"

namespace realizar::server {
namespace {

constexpr uint64_t kEva = 1, kTom = 2;

class ResponseInputTest : public ::testing::Test {
 protected:
  Result<ResponseChat> read(const std::string& body, uint64_t tenant = kEva) {
    const Json json = *parse_json(body);
    Fields fields(json);
    return chat_of_response(fields, store_, tenant);
  }
  // "role: content" of each message, calls as "name(arguments)".
  std::string messages_of(const std::string& body) {
    const auto chat = read(body);
    if (!chat.ok()) return chat.error().message;
    std::string text;
    for (const Json& message : chat->body["messages"]) {
      text += message["role"].get<std::string>() + ":";
      if (message.contains("reasoning_content")) text += " <" + message["reasoning_content"].get<std::string>() + ">";
      if (!message["content"].is_null())
        text +=
            " " + (message["content"].is_string() ? message["content"].get<std::string>() : dump(message["content"]));
      for (const Json& call : message.value("tool_calls", Json::array())) {
        text += " " + call["function"]["name"].get<std::string>() + "(" + dump(call["function"]["arguments"]) + ")";
      }
      text += "\n";
    }
    return text;
  }
  std::string messages_of_items(const std::string& items) { return messages_of("{\"input\": [" + items + "]}"); }
  Error error_of(const std::string& body, uint64_t tenant = kEva) {
    const auto chat = read(body, tenant);
    return chat.ok() ? Error{} : chat.error();
  }

  ResponseStore store_{{}};
};

TEST_F(ResponseInputTest, ItemsBecomeMessages) {
  EXPECT_EQ(messages_of(R"({"input": "U", "instructions": "S"})"), "system: S\nuser: U\n");
  EXPECT_EQ(
      messages_of_items(R"({"role": "user", "content": "U"}, {"type": "message", "role": "assistant", "id": "msg_1",
      "content": "A"}, {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "R"}]}, {"type": "function_call",
      "call_id": "1", "name": "f", "arguments": "{}"}, {"type": "function_call_output", "call_id": "1", "output": "O"})"),
      "user: U\nassistant: <R> A f(\"{}\")\ntool: O\n");
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
            "assistant: f(\"1\") g(\"2\")\ntool: {\"a\":1}\ntool: [{\"type\":\"input_text\",\"text\":\"T\"}]\n"
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
  EXPECT_EQ(chat->body["tools"][0]["custom"]["name"], "note");
  EXPECT_EQ(chat->body["tools"][1]["custom"]["name"], "n__note");
  EXPECT_EQ(chat->body["tool_choice"], Json::parse(R"({"type": "custom", "custom": {"name": "n__note"}})"));
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
      "assistant: find(\"{}\")\ntool: found\nuser: U\n");
}

TEST_F(ResponseInputTest, FunctionsOfANamespaceAreFunctionsUnderJoinedNames) {
  const std::string tools =
      R"("tools": [{"type": "web_search"}, {"type": "namespace", "name": "files", "description": "D",
      "tools": [{"type": "function", "name": "read", "description": "R", "strict": true},
      {"type": "custom", "name": "patch"}, {"type": "function", "name": "write"}]}, {"type": "function", "name": "read"}])";
  const auto chat = read("{\"input\": \"U\", " + tools + R"(, "tool_choice": {"type": "function", "name": "write"}})");
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  EXPECT_EQ(dump(chat->body["tools"]),
            R"([{"type":"web_search"},{"type":"function","function":{"name":"files__read",)"
            R"("description":"D\n\nR","strict":true}},{"type":"custom","custom":{"name":"files__patch"}},)"
            R"({"type":"function","function":{"name":"files__write"}},)"
            R"({"type":"function","function":{"name":"read"}}])");
  EXPECT_EQ(chat->body["tool_choice"]["function"]["name"], "files__write");
  EXPECT_EQ(chat->tool_names.parts_of("files__read").space, "files");
  EXPECT_EQ(at_client_place(wrong("tools[3].function.name", "no good"), chat->places).subject,
            "tools[1].tools[2].name");
  EXPECT_EQ(at_client_place(wrong("tools[4].function.name", "no good"), chat->places).subject, "tools[2].name");
  EXPECT_EQ(messages_of(R"({"input": [{"type": "function_call", "call_id": "1", "namespace": "files", "name": "read",
      "arguments": "1"}, {"type": "function_call", "call_id": "2", "name": "read", "arguments": "2"}], )" +
                        tools + "}"),
            "assistant: files__read(\"1\") read(\"2\")\n");
}

TEST_F(ResponseInputTest, EarlierResponsesComeFirstWithWhatTheyReferTo) {
  store_.put(kEva, {"resp_1",
                    "",
                    R"([{"role": "user", "content": "U1"}])",
                    R"({"output": [{"type": "message", "id": "msg_1", "role": "assistant", "content": "A1"}]})",
                    {"msg_1"}});
  store_.put(kEva, {"resp_2",
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
  store_.put(kEva, {"resp_1", "resp_0", "[]", R"({"output": [{"type": "message", "id": "msg_1"}]})", {"msg_1"}});
  const Error reference = error_of(R"({"input": [{"type": "item_reference", "id": "msg_1"}]})", kTom);
  EXPECT_EQ(reference.code, ErrorCode::kNotFound);
  EXPECT_EQ(reference.subject, "input[0].id");
  EXPECT_NE(reference.message.find("store"), std::string::npos) << reference.message;
  for (const uint64_t tenant : {kEva, kTom}) {  // Ann's leads to one that is gone
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
  };
  for (const auto& [body, field] : wrong) EXPECT_EQ(error_of(body).subject, field) << body;
}

TEST_F(ResponseInputTest, ErrorsOfTheChatNameTheClientsOwnFields) {
  const auto chat =
      read(R"({"instructions": "S", "input": [{"type": "web_search_call"}, {"role": "user", "content": "U"},
      {"type": "function_call_output", "call_id": "1", "output": []}], "tools": [{"type": "function", "name": "f"}],
      "text": {"format": {"type": "json_schema", "schema": {}}}})");
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  const std::pair<const char*, const char*> places[] = {
      {"messages[1].role", "input[1].role"},
      {"messages[1].content[0]", "input[1].content[0]"},
      {"messages[2].content[3]", "input[2].output[3]"},
      {"messages", "input"},
      {"tools[0].function.name", "tools[0].name"},
      {"tools[0].function.parameters", "tools[0].parameters"},
      {"response_format.json_schema.schema#/a", "text.format.schema#/a"},
      {"response_format.type", "text.format.type"},
      {"reasoning_effort", "reasoning.effort"},
      {"temperature", "temperature"},
  };
  for (const auto& [place, theirs] : places) {
    const Error error = at_client_place(wrong(place, "no good"), chat->places);
    EXPECT_EQ(error.subject, theirs);
    EXPECT_EQ(error.message, std::string(theirs) + ": no good");
  }
}

}  // namespace
}  // namespace realizar::server
