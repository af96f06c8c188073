#include "server/chat_prompt.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/served_model_rig.h"

namespace realizar::server {
namespace {

constexpr const char* kTool = R"({"type": "function", "function": {"name": "get_weather", "parameters":
    {"type": "object", "properties": {"city": {"type": "string"}}}}})";

class ChatPromptTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    rig_ = std::make_unique<ServedModelRig>(RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf");
    ASSERT_TRUE(rig_->is_ready());
  }
  static void TearDownTestSuite() { rig_.reset(); }
  ~ChatPromptTest() override { rig_->options = {}; }

  static Result<ChatPrompt> read(const std::string& body) { return read_chat_prompt(*parse_json(body), rig_->model()); }
  static Result<ChatPrompt> read_messages(const std::string& messages, const std::string& more = "") {
    return read("{\"messages\": " + messages + more + "}");
  }
  static std::string text_of(const std::string& messages, const std::string& more = "") {
    const auto prompt = read_messages(messages, more);
    return prompt.ok() ? prompt->text : "error: " + prompt.error().message;
  }
  static std::string wrong_field(const std::string& body) {
    const auto prompt = read(body);
    return prompt.ok() ? "" : prompt.error().subject;
  }

  static std::unique_ptr<ServedModelRig> rig_;
};

std::unique_ptr<ServedModelRig> ChatPromptTest::rig_;

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
      {message(R"({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]})"),
       "messages[0].tool_calls[0].function.arguments"},
      {R"({"messages": [)" + user + R"(], "tools": {}})", "tools"},
      {R"({"messages": [)" + user + R"(], "tools": [{"type": "web"}]})", "tools[0].type"},
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

TEST_F(ChatPromptTest, TooLongAPromptIsRefusedWithBothNumbers) {
  EXPECT_TRUE(check_prompt_length(1024, "messages", rig_->model(), rig_->call()).ok());
  const auto status = check_prompt_length(1025, "messages", rig_->model(), rig_->call());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kContextLengthExceeded);
  EXPECT_EQ(status.error().message, "the prompt has 1025 tokens, the model's context 1024");
  rig_->options.max_prompt_tokens = 10;
  EXPECT_TRUE(check_prompt_length(10, "messages", rig_->model(), rig_->call()).ok());
  EXPECT_EQ(check_prompt_length(11, "messages", rig_->model(), rig_->call()).error().message,
            "the prompt has 11 tokens, this server takes 10");
}

}  // namespace
}  // namespace realizar::server
