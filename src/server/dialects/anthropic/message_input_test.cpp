#include "server/dialects/anthropic/message_input.h"

#include <gtest/gtest.h>

#include "server/call/field_warnings.h"

namespace realizar::server {
namespace {

Result<MessageChat> read_message_chat(const std::string& body) {
  const Json json = *parse_json(body);
  Fields fields(json);
  return chat_of_message(fields);
}

Json chat_body(const std::string& body) {
  auto chat = read_message_chat(body);
  EXPECT_TRUE(chat.ok()) << (chat.ok() ? "" : chat.error().message) << " of " << body;
  return chat.ok() ? std::move(chat->body) : Json::object();
}

// The chat's messages for one message or more, without brackets.
Json messages(const std::string& list, const std::string& more = "") {
  return chat_body("{\"messages\": [" + list + "]" + more + "}")["messages"];
}

std::string wrong_field_of_message(const std::string& body) {
  const auto chat = read_message_chat(body);
  return chat.ok() ? "" : chat.error().subject;
}

Json json(const char* text) {
  return *parse_json(text);
}

constexpr const char* kUser = R"({"role": "user", "content": "U"})";

TEST(MessageInput, SystemIsAStringOrBlocks) {
  const Json expected = json(R"([{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "U"}])");
  EXPECT_EQ(messages(kUser, R"(, "system": "a\n\nb")"), expected);
  EXPECT_EQ(messages(kUser, R"(, "system": [
      {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.0; cch=1a2b3;"},
      {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b"}])"),
            expected);
  EXPECT_EQ(messages(kUser, R"(, "system": [])"), messages(kUser));
}

TEST(MessageInput, BlocksOfTextAreJoined) {
  EXPECT_EQ(messages(R"({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "document", "title": "T",
                "source": {"type": "text", "media_type": "text/plain", "data": "D"}}]})"),
            json(R"([{"role": "user", "content": "aT\n\nD"}])"));
}

TEST(MessageInput, ResultsOfToolsComeBeforeTheTextOfTheirMessage) {
  const Json read = messages(R"({"role": "user", "content": "U"},
      {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "A"},
        {"type": "tool_use", "id": "1", "name": "f", "input": {"x": 2}},
        {"type": "tool_use", "id": "2", "name": "g", "input": {}}]},
      {"role": "user", "content": [{"type": "text", "text": "V"},
        {"type": "tool_result", "tool_use_id": "1", "content": "one"},
        {"type": "tool_result", "tool_use_id": "2", "is_error": true,
         "content": [{"type": "text", "text": "t"}, {"type": "text", "text": "wo"}]}]})");
  EXPECT_EQ(read, json(R"([{"role": "user", "content": "U"},
      {"role": "assistant", "content": "A", "reasoning_content": "hm", "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"x": 2}}},
        {"id": "2", "type": "function", "function": {"name": "g", "arguments": {}}}]},
      {"role": "tool", "tool_call_id": "1", "content": "one"},
      {"role": "tool", "tool_call_id": "2", "content": "Error: t\nwo"},
      {"role": "user", "content": "V"}])"));
}

TEST(MessageInput, ThoughtsBetweenCallsStayApart) {
  const Json read = messages(R"({"role": "user", "content": "U"},
      {"role": "assistant", "content": [{"type": "thinking", "thinking": "first", "signature": ""},
        {"type": "tool_use", "id": "1", "name": "f", "input": {}},
        {"type": "thinking", "thinking": "second", "signature": ""},
        {"type": "tool_use", "id": "2", "name": "g", "input": {}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"},
                                   {"type": "tool_result", "tool_use_id": "2", "is_error": true}]},
      {"role": "assistant", "content": [{"type": "thinking", "thinking": "third", "signature": ""},
        {"type": "tool_use", "id": "3", "name": "f", "input": {}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "3", "is_error": true,
                                    "content": "Error: no f"}]})");
  EXPECT_EQ(read[1]["reasoning_content"], "first\n\nsecond");
  EXPECT_EQ(read[2]["content"], "");
  EXPECT_EQ(read[3]["content"], "Error");
  EXPECT_EQ(read[4]["reasoning_content"], "third");
  EXPECT_EQ(read[4]["tool_calls"].size(), 1u);
  EXPECT_EQ(read[5]["content"], "Error: no f");
}

TEST(MessageInput, ToolsAreFunctionsAndAnthropicsOwnAreLeftOut) {
  const Json body = chat_body(R"({"messages": [{"role": "user", "content": "U"}],
      "tools": [{"type": "web_search_20250305", "name": "web_search"},
                {"name": "f", "description": "d", "input_schema": {"type": "object"}, "cache_control": {}}],
      "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true}})");
  EXPECT_EQ(body["tools"], json(R"([{"type": "function",
      "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}])"));
  EXPECT_EQ(body["tool_choice"], json(R"({"type": "function", "function": {"name": "f"}})"));
  EXPECT_EQ(body["parallel_tool_calls"], false);
}

TEST(MessageInput, ChoicesOfToolsHaveOtherNames) {
  const std::pair<const char*, const char*> choices[] = {{"auto", "auto"}, {"any", "required"}, {"none", "none"}};
  for (const auto& [theirs, ours] : choices) {
    const Json body = chat_body(R"({"messages": [{"role": "user", "content": "U"}], "tool_choice": {"type": ")" +
                                std::string(theirs) + "\"}}");
    EXPECT_EQ(body["tool_choice"], ours);
    EXPECT_EQ(body["parallel_tool_calls"], true);
  }
}

TEST(MessageInput, FieldsHaveTheNamesOfAChatCompletion) {
  const Json body = chat_body(R"({"messages": [{"role": "user", "content": "U"}], "max_tokens": 9, "top_k": 3,
      "stop_sequences": ["a"], "thinking": {"type": "enabled", "budget_tokens": 5}, "seed": 4, "n": 3,
      "metadata": {"user_id": "x"}, "stop": ["b"], "logprobs": true,
      "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}}})");
  EXPECT_EQ(body["max_tokens"], 9);
  EXPECT_EQ(body["top_k"], 3);
  EXPECT_EQ(body["seed"], 4);
  EXPECT_EQ(body["stop"], json(R"(["a"])"));
  EXPECT_EQ(body["thinking"]["budget_tokens"], 5);
  EXPECT_EQ(body["reasoning_effort"], "low");
  EXPECT_EQ(body["response_format"]["json_schema"]["schema"], json(R"({"type": "object"})"));
  for (const char* name : {"n", "logprobs", "metadata"}) EXPECT_FALSE(body.contains(name)) << name;
}

TEST(MessageInput, AnAssistantsLastMessageIsContinued) {
  const Json begun = chat_body(R"({"messages": [{"role": "user", "content": "U"},
      {"role": "assistant", "content": [{"type": "text", "text": "A"}]}]})");
  EXPECT_EQ(begun["continue_final_message"], true);
  EXPECT_EQ(begun["messages"].size(), 2u);
  const Json empty = chat_body(R"({"messages": [{"role": "user", "content": "U"},
      {"role": "assistant", "content": []}]})");
  EXPECT_FALSE(empty.contains("continue_final_message"));
  EXPECT_EQ(empty["messages"].size(), 1u);
  const Json answered = chat_body(R"({"messages": [{"role": "user", "content": "U"},
      {"role": "assistant", "content": "A"}, {"role": "user", "content": []}]})");
  EXPECT_FALSE(answered.contains("continue_final_message"));
}

TEST(MessageInput, ThinkingMayBeOmitted) {
  const auto omits = [](const char* thinking) {
    return read_message_chat(R"({"messages": [{"role": "user", "content": "U"}], "thinking": )" +
                             std::string(thinking) + "}")
        ->omits_thinking;
  };
  EXPECT_TRUE(omits(R"({"type": "adaptive", "display": "omitted"})"));
  EXPECT_FALSE(omits(R"({"type": "adaptive", "display": "summarized"})"));
  EXPECT_FALSE(omits(R"({"type": "adaptive"})"));
}

TEST(MessageInput, WrongFieldsAreNamed) {
  const auto content = [](const std::string& block, const char* role = "user") {
    return R"({"messages": [{"role": ")" + std::string(role) + R"(", "content": [)" + block + "]}]}";
  };
  const auto with = [](const std::string& fields) {
    return R"({"messages": [{"role": "user", "content": "U"}], )" + fields + "}";
  };
  const std::pair<std::string, const char*> wrong_ones[] = {
      {"{}", "messages"},
      {R"({"messages": {}})", "messages"},
      {R"({"messages": []})", "messages"},
      {R"({"messages": [1]})", "messages[0]"},
      {R"({"messages": [{"role": "tool", "content": "x"}]})", "messages[0].role"},
      {R"({"messages": [{"role": "user"}]})", "messages[0].content"},
      {R"({"messages": [{"role": "user", "content": 5}]})", "messages[0].content"},
      {content("5"), "messages[0].content[0]"},
      {content("{}"), "messages[0].content[0].type"},
      {content(R"({"type": "text"})"), "messages[0].content[0].text"},
      {content(R"({"type": "image", "source": {}})"), "messages[0].content[0]"},
      {content(R"({"type": "document", "source": {"type": "base64"}})"), "messages[0].content[0].source"},
      {content(R"({"type": "document"})"), "messages[0].content[0].source"},
      {content(R"({"type": "tool_result"})"), "messages[0].content[0].tool_use_id"},
      {content(R"({"type": "tool_result", "tool_use_id": "1", "content": [{"type": "image"}]})"),
       "messages[0].content[0].content[0]"},
      {content(R"({"type": "tool_result", "tool_use_id": "1", "is_error": 1})"), "messages[0].content[0].is_error"},
      {content(R"({"type": "tool_use", "name": "f"})", "assistant"), "messages[0].content[0].id"},
      {content(R"({"type": "tool_use", "id": "1"})", "assistant"), "messages[0].content[0].name"},
      {content(R"({"type": "tool_use", "id": "1", "name": "f", "input": "x"})", "assistant"),
       "messages[0].content[0].input"},
      {content(R"({"type": "tool_use", "id": "1", "name": "f", "input": {}})", "assistant"), "messages[0]"},
      {with(R"("system": 5)"), "system"},
      {with(R"("system": [{"type": "image"}])"), "system[0]"},
      {with(R"("tools": {})"), "tools"},
      {with(R"("tools": [5])"), "tools[0]"},
      {with(R"("tools": [{"name": "f"}])"), "tools[0].input_schema"},
      {with(R"("tools": [{"type": 5}])"), "tools[0].type"},
      {with(R"("tool_choice": "auto")"), "tool_choice"},
      {with(R"("tool_choice": {"type": "tool"})"), "tool_choice"},
      {with(R"("tool_choice": {"type": "auto", "disable_parallel_tool_use": 1})"),
       "tool_choice.disable_parallel_tool_use"},
      {with(R"("stop_sequences": "x")"), "stop_sequences"},
      {with(R"("stop_sequences": [1])"), "stop_sequences"},
      {with(R"("metadata": 5)"), "metadata"},
      {with(R"("thinking": {"budget_tokens": 5})"), "thinking.type"},
      {with(R"("thinking": {"type": "adaptive", "display": "none"})"), "thinking.display"},
      {with(R"("output_config": {"format": {"type": "text"}})"), "output_config.format.type"},
      {with(R"("output_config": {"format": {"type": "json_schema"}})"), "output_config.format.schema"},
      {with(R"("output_config": {"effort": 5})"), "output_config.effort"},
      {with(R"("output_format": {"type": "json_schema", "schema": []})"), "output_format.schema"},
  };
  for (const auto& [body, field] : wrong_ones) EXPECT_EQ(wrong_field_of_message(body), field) << body;
}

TEST(MessageInput, ErrorsOfTheChatNameWhatTheClientWrote) {
  const auto chat = read_message_chat(R"({"system": "S", "messages": [{"role": "user", "content": "U"}],
      "tools": [{"type": "bash_20250124", "name": "bash"}, {"name": "f", "input_schema": {}}], "stop_sequences": []})");
  ASSERT_TRUE(chat.ok());
  const std::pair<const char*, const char*> places[] = {
      {"messages[0].content", "system"},
      {"messages[1].content", "messages[0].content"},
      {"tools[0].function.parameters#/a", "tools[1].input_schema#/a"},
      {"tools[0].function.name", "tools[1].name"},
      {"stop", "stop_sequences"},
      {"temperature", "temperature"},
  };
  for (const auto& [place, theirs] : places)
    EXPECT_EQ(at_client_place(wrong(place, "no"), chat->places).subject, theirs);
}

TEST(MessageInput, NoFieldOfTheApiIsTakenForASlip) {
  EXPECT_EQ(field_warnings(json(R"({"model": "m", "max_tokens": 1, "messages": [], "system": "", "stop_sequences": [],
      "metadata": {}, "service_tier": "auto", "tools": [], "tool_choice": {}, "thinking": {}, "output_config": {},
      "output_format": {}, "context_management": {}, "container": "", "mcp_servers": [], "stream": true})")),
            "");
}

}  // namespace
}  // namespace realizar::server
