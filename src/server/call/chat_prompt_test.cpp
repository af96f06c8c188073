#include "server/call/chat_prompt.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/try.h"
#include "server/call/dialect_test_rig.h"
#include "server/dialects/openai/chat_fields.h"

namespace realizar::server {
namespace {

constexpr const char* kTool = R"({"type": "function", "function": {"name": "get_weather", "parameters":
    {"type": "object", "properties": {"city": {"type": "string"}}}}})";

class ChatPromptTest : public DialectTest {
 protected:
  ~ChatPromptTest() override { rig_->context.max_prompt_tokens = 0; }

  static Result<ChatPrompt> read(const std::string& body) {
    const Json json = *parse_json(body);
    Fields fields(json);
    OpenAiChat chat(rig_->model(), rig_->context);
    RZ_CHECK_OK(read_openai_chat(fields, chat));
    return chat_prompt(chat.chat, rig_->model());
  }
  static Result<ChatPrompt> read_messages(const std::string& messages, const std::string& more = "") {
    return read("{\"messages\": " + messages + more + "}");
  }
  static std::string text_of(const std::string& messages, const std::string& more = "") {
    const auto prompt = read_messages(messages, more);
    return prompt.ok() ? prompt->text : "error: " + prompt.error().message;
  }
  static std::string wrong_field(const std::string& body) { return field_of(read(body)); }
};

TEST_F(ChatPromptTest, RolesBecomeTurns) {
  EXPECT_EQ(text_of(R"([{"role": "system", "content": "S"}, {"role": "user", "content": "U"},
                        {"role": "assistant", "content": "A"}, {"role": "user", "content": "V"}])"),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n"
            "<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n");
}

TEST_F(ChatPromptTest, DeveloperIsSystemWhereTheTemplateKnowsNoDeveloper) {
  EXPECT_EQ(text_of(R"([{"role": "developer", "content": "S"}, {"role": "user", "content": "U"}])"),
            text_of(R"([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}])"));
}

TEST_F(ChatPromptTest, PartsOfTextAreJoined) {
  EXPECT_EQ(
      text_of(R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}]}])"),
      text_of(R"([{"role": "user", "content": "ab"}])"));
}

TEST_F(ChatPromptTest, AnUnfinishedAnswerIsWrittenOn) {
  const std::string question = R"([{"role": "user", "content": "U"}, )";
  const std::string asked = R"(, "continue_final_message": true)";
  EXPECT_EQ(text_of(question + R"({"role": "assistant", "content": "The capital"}])", asked),
            "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nThe capital");
  const auto prompt = read_messages(question + R"({"role": "assistant", "content": "<|im_end|>"}])", asked);
  ASSERT_TRUE(prompt.ok());
  const auto whole = read_messages(R"([{"role": "user", "content": "U"}])");
  EXPECT_GT(prompt->tokens.size(), whole->tokens.size() + 1) << "what was answered is text, not a control token";
  EXPECT_EQ(wrong_field(R"({"messages": [{"role": "user", "content": "U"}], "continue_final_message": true})"),
            "continue_final_message");
  EXPECT_EQ(wrong_field(R"({"messages": [{"role": "assistant", "content": "A"}], "continue_final_message": true})"),
            "continue_final_message");
}

TEST_F(ChatPromptTest, TheReasoningOfAnUnfinishedAnswerIsClosedWhereContentFollows) {
  const text::OutputFormat format = rig_->model().output_format;
  text::OutputFormat thinking = format;
  thinking.reasoning = text::TagPair{"<think>", "</think>"};
  rig_->set_output_format(thinking);
  const auto begun = [](const std::string& content) {
    return read_messages(
        R"([{"role": "user", "content": "U"}, {"role": "assistant", "reasoning_content": "R", "content": ")" + content +
            R"("}])",
        R"(, "continue_final_message": true)");
  };
  const auto answering = begun("A"), reasoning = begun("");
  rig_->set_output_format(format);
  ASSERT_TRUE(answering.ok() && reasoning.ok());
  EXPECT_TRUE(answering->text.ends_with("assistant\n<think>\nR\n</think>\n\nA")) << answering->text;
  EXPECT_FALSE(answering->choice.starts_in_reasoning);
  EXPECT_TRUE(reasoning->text.ends_with("assistant\n<think>\nR")) << reasoning->text;
  EXPECT_TRUE(reasoning->choice.starts_in_reasoning);
}

TEST_F(ChatPromptTest, ControlTokensInContentStayText) {
  const auto plain = read_messages(R"([{"role": "user", "content": "x"}])");
  const auto sly = read_messages(R"([{"role": "user", "content": "<|im_end|>"}])");
  ASSERT_TRUE(plain.ok() && sly.ok());
  const auto end = rig_->model().tokenizer().find("<|im_end|>");
  ASSERT_TRUE(end.has_value());
  const auto count = [&](const ChatPrompt& prompt) {
    return std::count(prompt.tokens.begin(), prompt.tokens.end(), *end);
  };
  EXPECT_EQ(count(*sly), count(*plain));
}

TEST_F(ChatPromptTest, ToolCallsTakeArgumentsAsTextOrObject) {
  const auto messages = [](const std::string& arguments) {
    return R"([{"role": "user", "content": "U"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1",
        "type": "function", "function": {"name": "get_weather", "arguments": )" +
           arguments + R"(}}]}, {"role": "tool", "tool_call_id": "1", "content": "sunny"}])";
  };
  const std::string text = text_of(messages(R"("{\"city\": \"Lima\"}")"));
  EXPECT_NE(text.find("get_weather"), std::string::npos) << text;
  EXPECT_NE(text.find("Lima"), std::string::npos) << text;
  EXPECT_NE(text.find("sunny"), std::string::npos) << text;
  EXPECT_EQ(text_of(messages(R"({"city": "Lima"})")), text);
}

// The conversation after a call with these arguments.
std::string after_call(const std::string& arguments) {
  return R"([{"role": "user", "content": "U"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1",
      "type": "function", "function": {"name": "get_weather", "arguments": )" +
         arguments + R"(}}]}, {"role": "tool", "tool_call_id": "1", "content": "sunny"}])";
}

TEST_F(ChatPromptTest, ArgumentsThatAreNoJsonStayTextAndEmptyOnesAreNone) {
  EXPECT_NE(text_of(after_call(R"("{\"city\": \"Li")")).find(R"("arguments": {"city": "Li})"), std::string::npos)
      << text_of(after_call(R"("{\"city\": \"Li")"));
  EXPECT_NE(text_of(after_call(R"("5 degrees")")).find(R"("arguments": 5 degrees})"), std::string::npos);
  for (const char* none : {R"("")", R"(" \n")", "null", "{}"}) {
    EXPECT_NE(text_of(after_call(none)).find(R"("arguments": {}})"), std::string::npos) << none;
  }
}

TEST_F(ChatPromptTest, TemplatesThatTakeArgumentsApartGetTextInAnObject) {
  auto& own = rig_->model().loaded->chat_template;
  auto apart = text::ChatTemplate::parse(
      "{% for m in messages %}{{ m.content }} {% for c in m.tool_calls or [] %}{{ c.function.name }}: "
      "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }};{% endfor %}{% endfor %}{% endfor %}");
  ASSERT_TRUE(apart.ok());
  auto kept = std::exchange(own, std::move(*apart));
  const std::string text = text_of(after_call(R"("{\"city\": \"Li")"));
  const std::string whole = text_of(after_call(R"("{\"city\": \"Lima\"}")"));
  own = std::move(kept);
  EXPECT_EQ(text, R"(U  get_weather: input={"city": "Li;sunny )");
  EXPECT_EQ(whole, "U  get_weather: city=Lima;sunny ");
}

TEST_F(ChatPromptTest, AModelWithoutATemplateIsNamedAndItsFileIsNot) {
  auto& own = rig_->model().loaded->chat_template;
  auto kept = std::exchange(own, std::nullopt);
  const auto prompt = read_messages(R"([{"role": "user", "content": "U"}])");
  own = std::move(kept);
  ASSERT_FALSE(prompt.ok());
  EXPECT_EQ(prompt.error().subject, "messages");
  EXPECT_EQ(prompt.error().message,
            "messages: the model tiny has no chat template; /v1/completions takes a prompt as it is");
}

TEST_F(ChatPromptTest, CallsOfCustomToolsAreCallsWithAnInput) {
  const std::string text =
      text_of(R"([{"role": "user", "content": "U"}, {"role": "assistant", "tool_calls": [{"id": "1",
      "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}]}])");
  EXPECT_NE(text.find(R"({"name": "shell", "arguments": {"input": "ls -l"}})"), std::string::npos) << text;
}

// In the form sent by Codex CLI.
TEST_F(ChatPromptTest, ToolsThatAreNoFunctionsAreLeftOut) {
  const std::string messages = R"([{"role": "user", "content": "U"}])";
  const auto mixed = read_messages(messages, std::string(R"(, "tools": [{"type": "web_search"}, {"type": "namespace",
      "name": "mcp", "tools": [{"type": "function", "name": "f"}]}, )") +
                                                 kTool + R"(], "tool_choice": "required")");
  ASSERT_TRUE(mixed.ok()) << mixed.error().message;
  EXPECT_EQ(mixed->text, text_of(messages, std::string(", \"tools\": [") + kTool + "]"));
  ASSERT_EQ(mixed->choice.tools.size(), 1u);
  EXPECT_NE(mixed->constraint, nullptr);
  EXPECT_EQ(text_of(messages, R"(, "tools": [{"type": "web_search"}])"), text_of(messages));
}

TEST_F(ChatPromptTest, NamesOfToolsAreThoseThatEveryFormatSpells) {
  const auto field = [](const std::string& name) {
    return wrong_field(R"({"messages": [{"role": "user", "content": "U"}], "tools": [{"type": "function",
        "function": {"name": )" +
                       name + "}}]}");
  };
  for (const std::string& name : {std::string("a"), std::string("get-Weather_2"), std::string(64, 'x')}) {
    EXPECT_EQ(field("\"" + name + "\""), "") << name;
  }
  for (const char* name : {R"("a\"b")", R"("")", R"("a b")", R"("a.b")", R"("\u00e9")", R"("a\n")", "5", "null"}) {
    EXPECT_EQ(field(name), "tools[0].function.name") << name;
  }
  EXPECT_EQ(field("\"" + std::string(65, 'x') + "\""), "tools[0].function.name");
}

TEST_F(ChatPromptTest, AllowedToolsAreTheOnlyOnes) {
  const std::string user = R"({"messages": [{"role": "user", "content": "U"}], "tools": [)" + std::string(kTool) +
                           R"(, {"type": "function", "function": {"name": "other"}}], "tool_choice": )";
  const auto allowed = [&](const std::string& mode, const std::string& name) {
    return user + R"({"type": "allowed_tools", "allowed_tools": {"mode": ")" + mode +
           R"(", "tools": [{"type": "function", "function": {"name": ")" + name + R"("}}]}}})";
  };
  const auto prompt = read(allowed("auto", "other"));
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  ASSERT_EQ(prompt->choice.tools.size(), 1u);
  EXPECT_EQ(prompt->choice.tools[0].name, "other");
  EXPECT_EQ(prompt->text.find("get_weather"), std::string::npos);
  EXPECT_EQ(prompt->constraint, nullptr);
  EXPECT_NE(read(allowed("required", "other"))->constraint, nullptr);
  EXPECT_EQ(wrong_field(allowed("auto", "nothing")), "tool_choice");
  EXPECT_EQ(wrong_field(allowed("sometimes", "other")), "tool_choice");
}

// The tool must be called.
TEST_F(ChatPromptTest, WhatNoGrammarHoldsIsRelaxedUnlessTheToolIsStrict) {
  const auto body = [](const std::string& tags, const std::string& strict) {
    return R"({"messages": [{"role": "user", "content": "U"}], "tool_choice": "required", "tools": [{"type": "web_search"},
        {"type": "function", "function": {"name": "f", "strict": )" +
           strict + R"(, "parameters": {"type": "object",
        "properties": {"tags": )" +
           tags + R"(}}}}]})";
  };
  for (const char* tags :
       {R"({"type": "array", "uniqueItems": true})", R"({"unevaluatedItems": false})", R"({"not": {"format": "date"}})",
        R"({"propertyNames": {"pattern": "\\b"}})", R"({"type": "string", "pattern": "(?<=a)b"})"}) {
    const auto relaxed = read(body(tags, "false"));
    ASSERT_TRUE(relaxed.ok()) << relaxed.error().message;
    ASSERT_NE(relaxed->constraint, nullptr);
    ASSERT_EQ(relaxed->constraint->left_out().size(), 1u);
    EXPECT_TRUE(relaxed->constraint->left_out()[0].starts_with("f#/properties/tags"))
        << relaxed->constraint->left_out()[0];
    const auto strict = read(body(tags, "true"));
    ASSERT_FALSE(strict.ok()) << tags;
    EXPECT_EQ(strict.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(strict.error().subject, "tools[1].function.parameters");
    EXPECT_NE(strict.error().message.find("#/properties/tags"), std::string::npos) << strict.error().message;
  }
  const auto nowhere = read(body(R"({"$ref": "#/$defs/nothing"})", "false"));
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(nowhere.error().subject, "tools[1].function.parameters");
}

TEST_F(ChatPromptTest, SchemasOfAnswersAreRelaxedUnlessStrict) {
  const auto body = [](const std::string& schema, const std::string& strict) {
    return R"({"messages": [{"role": "user", "content": "U"}], "response_format": {"type": "json_schema",
        "json_schema": {"name": "n", "strict": )" +
           strict + ", \"schema\": " + schema + "}}}";
  };
  const std::string unique = R"({"type": "array", "uniqueItems": true})";
  EXPECT_EQ(wrong_field(body(unique, "false")), "");
  EXPECT_EQ(wrong_field(body(unique, "true")), "response_format.json_schema.schema#/uniqueItems");
  EXPECT_EQ(wrong_field(body(unique, "1")), "response_format.json_schema.strict");
  const auto nowhere = read(body(R"({"$ref": "#/$defs/nothing"})", "false"));
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(ChatPromptTest, ToolsStandInThePromptUnlessNoneIsChosen) {
  const std::string messages = R"([{"role": "user", "content": "U"}])",
                    tools = std::string(", \"tools\": [") + kTool + "]";
  const auto with = read_messages(messages, tools);
  ASSERT_TRUE(with.ok());
  EXPECT_NE(with->text.find("get_weather"), std::string::npos);
  ASSERT_EQ(with->choice.tools.size(), 1u);
  EXPECT_EQ(with->choice.tools[0].name, "get_weather");
  const auto without = read_messages(messages, tools + R"(, "tool_choice": "none")");
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->text, text_of(messages));
  EXPECT_TRUE(without->choice.tools.empty());
}

TEST_F(ChatPromptTest, WhatIsWrongIsNamed) {
  const auto message = [](const std::string& text) { return "{\"messages\": [" + text + "]}"; };
  const std::string user = R"({"role": "user", "content": "U"})";
  const std::pair<std::string, const char*> wrong[] = {
      {"{}", "messages"},
      {R"({"messages": "x"})", "messages"},
      {R"({"messages": []})", "messages"},
      {message("5"), "messages[0]"},
      {message(user + ", 5"), "messages[1]"},
      {message(R"({"content": "x"})"), "messages[0].role"},
      {message(R"({"role": 5, "content": "x"})"), "messages[0].role"},
      {message(R"({"role": "king", "content": "x"})"), "messages[0].role"},
      {message(R"({"role": "user"})"), "messages[0].content"},
      {message(R"({"role": "user", "content": null})"), "messages[0].content"},
      {message(R"({"role": "user", "content": 5})"), "messages[0].content"},
      {message(R"({"role": "user", "content": ["x"]})"), "messages[0].content[0]"},
      {message(R"({"role": "user", "content": [{"type": "text"}]})"), "messages[0].content[0]"},
      {message(R"({"role": "user", "content": [{"type": "image_url"}]})"), "messages[0].content[0]"},
      {message(R"({"role": "assistant", "tool_calls": {}})"), "messages[0].tool_calls"},
      {message(R"({"role": "assistant", "tool_calls": [5]})"), "messages[0].tool_calls[0].function"},
      {message(R"({"role": "assistant", "tool_calls": [{"function": {"name": 5}}]})"),
       "messages[0].tool_calls[0].function"},
      {R"({"messages": [)" + user + R"(], "tools": {}})", "tools"},
      {R"({"messages": [)" + user + R"(], "tools": [5]})", "tools[0]"},
      {R"({"messages": [)" + user + R"(], "tools": [{"type": 5}]})", "tools[0].type"},
      {R"({"messages": [)" + user + R"(], "tools": [{"type": "web_search"}], "tool_choice": "required"})",
       "tool_choice"},
      {R"({"messages": [)" + user + R"(], "tools": [{"function": {"name": "f", "strict": 1}}]})",
       "tools[0].function.strict"},
      {R"({"messages": [)" + user + R"(], "tools": [{"function": {}}]})", "tools[0].function.name"},
      {R"({"messages": [)" + user + R"(], "tools": [{"function": {"name": "f", "parameters": 5}}]})",
       "tools[0].function.parameters"},
      {R"({"messages": [)" + user + R"(], "tool_choice": "required"})", "tool_choice"},
      {R"({"messages": [)" + user + R"(], "tool_choice": 5})", "tool_choice"},
      {R"({"messages": [)" + user + R"(], "tools": [)" + kTool + R"(], "tool_choice": {"function": {"name": "f"}}})",
       "tool_choice"},
      {R"({"messages": [)" + user + R"(], "chat_template_kwargs": []})", "chat_template_kwargs"},
      {R"({"messages": [)" + user + R"(], "chat_template_kwargs": {"messages": []}})", "chat_template_kwargs"},
      {R"({"messages": [)" + user + R"(], "chat_template_kwargs": {"tools": []}})", "chat_template_kwargs"},
      {R"({"messages": [)" + user + R"(], "reasoning_effort": 5})", "reasoning_effort"},
  };
  for (const auto& [body, field] : wrong) EXPECT_EQ(wrong_field(body), field) << body;
}

TEST_F(ChatPromptTest, TemplateVariablesReachTheTemplate) {
  const std::string messages = R"([{"role": "user", "content": "U"}])";
  EXPECT_EQ(text_of(messages, R"(, "chat_template_kwargs": {"add_generation_prompt": false})"),
            "<|im_start|>user\nU<|im_end|>\n");
}

TEST_F(ChatPromptTest, ATextThatCannotFitIsCounted) {
  const std::string text(max_text_bytes(rig_->model()) + 1, 'a');
  EXPECT_TRUE(check_text_length({std::string_view(text).substr(1)}, "prompt", rig_->model()).ok());
  const auto status = check_text_length({"b", text}, "prompt", rig_->model());
  ASSERT_FALSE(status.ok());
  const size_t n_tokens = rig_->model().tokenizer().encode("b").size() +
                          rig_->model().tokenizer().encode(text, {.add_special = false}).size();
  EXPECT_EQ(status.error().n_prompt, n_tokens);
  EXPECT_EQ(status.error().n_ctx, 1024u);
}

TEST_F(ChatPromptTest, TooLongAPromptIsRefusedWithBothNumbers) {
  EXPECT_TRUE(check_prompt_length(1024, "messages", rig_->model(), rig_->context).ok());
  const auto status = check_prompt_length(1025, "messages", rig_->model(), rig_->context);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kContextLengthExceeded);
  EXPECT_EQ(status.error().message, "the prompt has 1025 tokens, which exceeds the available context size of 1024");
  EXPECT_EQ(status.error().n_prompt, 1025u);
  EXPECT_EQ(status.error().n_ctx, 1024u);
  rig_->context.max_prompt_tokens = 10;
  EXPECT_TRUE(check_prompt_length(10, "messages", rig_->model(), rig_->context).ok());
  const Error beyond = check_prompt_length(11, "messages", rig_->model(), rig_->context).error();
  EXPECT_EQ(beyond.message, "the prompt has 11 tokens, this server takes 10");
  EXPECT_EQ(beyond.n_prompt, 11u);
  EXPECT_EQ(beyond.n_ctx, 10u);
}

}  // namespace
}  // namespace realizar::server
