#include "server/dialects/anthropic/message_input.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/try.h"
#include "server/call/dialect_test_rig.h"
#include "server/call/protocol.h"

namespace realizar::server {
namespace {

Json json(const char* text) {
  return *parse_json(text);
}

constexpr const char* kUser = R"({"role": "user", "content": "U"})";

class MessageInput : public DialectTest {
 protected:
  static Result<MessageReading> read(const std::string& body) {
    const Json json = *parse_json(body);
    Fields fields(json);
    MessageReading asked(rig_->model(), rig_->context);
    RZ_CHECK_OK(read_message_fields(fields, asked));
    return asked;
  }
  // One message and additional fields.
  static MessageReading read_with(const std::string& more) {
    auto asked = read(R"({"messages": [{"role": "user", "content": "U"}], )" + more + "}");
    EXPECT_TRUE(asked.ok()) << (asked.ok() ? "" : asked.error().message) << " of " << more;
    return asked.ok() ? std::move(*asked) : MessageReading(rig_->model(), rig_->context);
  }
  // The chat's messages for one or more messages, without brackets.
  static Json messages(const std::string& list, const std::string& more = "") {
    const auto asked = read("{\"messages\": [" + list + "]" + more + "}");
    EXPECT_TRUE(asked.ok()) << (asked.ok() ? "" : asked.error().message) << " of " << list;
    Json read = Json::array();
    if (!asked.ok()) return read;
    for (const ChatMessage& message : asked->chat.messages) read.push_back(template_json(message));
    return read;
  }
  static std::string wrong_field(const std::string& body) { return field_of(read(body)); }
};

TEST_F(MessageInput, SystemIsAStringOrBlocks) {
  const Json expected = json(R"([{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "U"}])");
  EXPECT_EQ(messages(kUser, R"(, "system": "a\n\nb")"), expected);
  EXPECT_EQ(messages(kUser, R"(, "system": [
      {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.0; cch=1a2b3;"},
      {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b"}])"),
            expected);
  EXPECT_EQ(messages(kUser, R"(, "system": [])"), messages(kUser));
}

TEST_F(MessageInput, BlocksOfTextAreJoined) {
  EXPECT_EQ(messages(R"({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "document", "title": "T",
                "source": {"type": "text", "media_type": "text/plain", "data": "D"}}]})"),
            json(R"([{"role": "user", "content": "aT\n\nD"}])"));
}

TEST_F(MessageInput, ResultsOfToolsComeBeforeTheTextOfTheirMessage) {
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

TEST_F(MessageInput, PartsOfResultsThatAreNoTextAreNamed) {
  EXPECT_EQ(messages(R"({"role": "user", "content": "U"},
      {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "t"},
        {"type": "image", "source": {"type": "base64", "data": "x"}},
        {"type": "tool_reference", "tool_name": "mcp__db__read"}]}]})")[2],
            json(R"({"role": "tool", "tool_call_id": "1", "content":
      "t\n[image: left out, since this model takes text only]\nmcp__db__read"})"));
}

TEST_F(MessageInput, ThoughtsBetweenCallsStayApart) {
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

TEST_F(MessageInput, ToolsAreFunctionsAndAnthropicsOwnAreLeftOut) {
  const MessageReading asked = read_with(R"("tools": [{"type": "web_search_20250305", "name": "web_search"},
                {"name": "f", "description": "d", "input_schema": {"type": "object"}, "cache_control": {}}],
      "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true})");
  const ChatTools& tools = asked.chat.tools;
  ASSERT_EQ(tools.tools.size(), 1u);
  EXPECT_EQ(tools.tools[0].json, json(R"({"type": "function",
      "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}})"));
  EXPECT_EQ(tools.tools[0].place, "tools[1].input_schema");
  EXPECT_TRUE(tools.must_call);
  EXPECT_EQ(tools.only, "f");
  EXPECT_FALSE(asked.chat.parallel_calls);
}

TEST_F(MessageInput, ChoicesOfToolsHaveOtherNames) {
  const auto chosen = [](const std::string& type) {
    return read_with(R"("tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": ")" + type + "\"}").chat;
  };
  EXPECT_FALSE(chosen("auto").tools.must_call);
  EXPECT_TRUE(chosen("any").tools.must_call);
  EXPECT_EQ(chosen("any").tools.only, "");
  EXPECT_TRUE(chosen("none").tools.tools.empty());
  for (const char* type : {"auto", "any", "none"}) EXPECT_TRUE(chosen(type).parallel_calls) << type;
}

TEST_F(MessageInput, FieldsHaveTheirOwnNamesAndOthersOfChatsNone) {
  const Json body = json(R"({"messages": [{"role": "user", "content": "U"}], "max_tokens": 9, "top_k": 3,
      "stop_sequences": ["a"], "thinking": {"type": "enabled", "budget_tokens": 5}, "seed": 4, "n": 3,
      "metadata": {"user_id": "x"}, "stop": ["b"], "logprobs": true,
      "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}}})");
  Fields fields(body);
  MessageReading asked(rig_->model(), rig_->context);
  ASSERT_TRUE(read_whole_message(fields, asked).ok());
  const ChatRequest& chat = asked.chat;
  const Request& request = chat.generation.request;
  EXPECT_EQ(request.max_tokens, 9u);
  EXPECT_EQ(request.sampling.top_k, 3);
  EXPECT_EQ(request.sampling.seed, 4u);
  EXPECT_EQ(chat.generation.stop, std::vector<std::string>{"a"});
  EXPECT_EQ(chat.reasoning.budget, 5);
  EXPECT_EQ(chat.reasoning.effort, "low");
  EXPECT_EQ(chat.effort_field, "output_config.effort");
  EXPECT_EQ(chat.form.source, R"({"type":"object"})");
  EXPECT_EQ(chat.form.where, "output_config.format.schema");
  EXPECT_TRUE(chat.form.is_strict);
  EXPECT_EQ(chat.generation.n, 1u);
  EXPECT_FALSE(request.logprobs);
}

TEST_F(MessageInput, AnAssistantsLastMessageIsContinued) {
  const auto begun = read(R"({"messages": [{"role": "user", "content": "U"},
      {"role": "assistant", "content": [{"type": "text", "text": "A"}]}]})");
  ASSERT_TRUE(begun.ok());
  EXPECT_TRUE(begun->chat.continues_last);
  EXPECT_EQ(begun->chat.continues_field, "messages[1]");
  EXPECT_EQ(begun->chat.messages.size(), 2u);
  const auto empty = read(R"({"messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": []}]})");
  ASSERT_TRUE(empty.ok());
  EXPECT_FALSE(empty->chat.continues_last);
  EXPECT_EQ(empty->chat.messages.size(), 1u);
  const auto answered = read(R"({"messages": [{"role": "user", "content": "U"},
      {"role": "assistant", "content": "A"}, {"role": "user", "content": []}]})");
  ASSERT_TRUE(answered.ok());
  EXPECT_FALSE(answered->chat.continues_last);
}

TEST_F(MessageInput, ThinkingMayBeOmitted) {
  const auto omits = [](const std::string& thinking) { return read_with(R"("thinking": )" + thinking).omits_thinking; };
  EXPECT_TRUE(omits(R"({"type": "adaptive", "display": "omitted"})"));
  EXPECT_FALSE(omits(R"({"type": "adaptive", "display": "summarized"})"));
  EXPECT_FALSE(omits(R"({"type": "adaptive"})"));
}

TEST_F(MessageInput, WrongFieldsAreNamed) {
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
      {content(R"({"type": "tool_result", "tool_use_id": "1", "content": [{"type": 5}]})"),
       "messages[0].content[0].content[0].type"},
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
      {with(R"("tools": [{"type": "bash_20250124", "name": "bash"}, {"name": "a b", "input_schema": {}}])"),
       "tools[1].name"},
      {with(R"("tools": [{"name": "f", "input_schema": {}, "strict": 1}])"), "tools[0].strict"},
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
  for (const auto& [body, field] : wrong_ones) EXPECT_EQ(wrong_field(body), field) << body;
}

TEST(MessageError, HasAnthropicsTypesAndStatuses) {
  const struct {
    int status, told;
    const char* type;
  } cases[] = {{400, 400, "invalid_request_error"}, {401, 401, "authentication_error"},
               {403, 403, "permission_error"},      {404, 404, "not_found_error"},
               {413, 413, "request_too_large"},     {415, 415, "invalid_request_error"},
               {429, 429, "rate_limit_error"},      {500, 500, "api_error"},
               {503, 529, "overloaded_error"},      {504, 504, "timeout_error"}};
  for (const auto& [status, told, type] : cases) {
    ApiError error{status, "why", "", ""};
    error.request_id = "req_1";
    const HttpResponse response = message_error_response(error);
    EXPECT_EQ(response.status, told);
    EXPECT_EQ(*parse_json(response.body),
              Json({{"type", "error"}, {"error", {{"type", type}, {"message", "why"}}}, {"request_id", "req_1"}}));
  }
}

TEST(MessageError, NamesTheFieldThatIsWrong) {
  const auto told = [](const char* message) {
    return (*parse_json(message_error_response({400, message, "system", ""}).body))["error"]["message"]
        .get<std::string>();
  };
  EXPECT_EQ(told("system: expected a string"), "system: expected a string");
  EXPECT_EQ(told("expected a string"), "system: expected a string");
}

TEST(MessageError, APromptThatIsTooLongIsToldInTheWordsThatClientsLookFor) {
  const auto told = [](uint32_t n_prompt) {
    const ApiError error{400, "the text is long", "messages", "context_length_exceeded", n_prompt, 1024};
    return (*parse_json(message_error_response(error).body))["error"]["message"].get<std::string>();
  };
  EXPECT_EQ(told(2000), "prompt is too long: 2000 tokens > 1024 maximum");
  EXPECT_EQ(told(0), "prompt is too long: the text is long");
}

}  // namespace
}  // namespace realizar::server
