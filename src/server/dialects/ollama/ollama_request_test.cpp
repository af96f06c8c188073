#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/call/served_model_rig.h"
#include "server/dialects/ollama/ollama.h"
#include "server/dialects/ollama/ollama_prompt.h"
#include "server/models/stored_messages.h"

namespace realizar::server {
namespace {

class OllamaRequestTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    rig_ = std::make_unique<ServedModelRig>(RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf");
    ASSERT_TRUE(rig_->is_ready());
  }
  static void TearDownTestSuite() { rig_.reset(); }

  static Result<OllamaRequest> read(const std::string& more) {
    const Json json = *parse_json(R"({"model": "tiny")" + more + "}");
    Fields fields(json);
    return read_ollama_request(fields, rig_->model(), rig_->context);
  }
  static std::string chat_of(const std::string& more) {
    const auto request = read(more);
    return request.ok() ? request->chat.dump() : "error: " + request.error().message;
  }
  static std::string wrong_field(const std::string& more) {
    const auto request = read(more);
    return request.ok() ? "" : request.error().subject;
  }

  static std::unique_ptr<ServedModelRig> rig_;
};

std::unique_ptr<ServedModelRig> OllamaRequestTest::rig_;

TEST_F(OllamaRequestTest, OptionsAreFieldsOfChatCompletions) {
  EXPECT_EQ(nlohmann::json::parse(
                chat_of(R"(, "options": {"num_predict": 7, "seed": 3, "temperature": 0.5, "top_k": 4, "top_p": 0.75,
      "min_p": 0.25, "typical_p": 0.5, "repeat_penalty": 1.5, "repeat_last_n": -1, "presence_penalty": 1,
      "frequency_penalty": -1, "stop": ["a", "b"], "num_gpu": 1, "use_mmap": true})")),
            nlohmann::json::parse(
                R"({"max_tokens": 7, "seed": 3, "temperature": 0.5, "top_k": 4, "top_p": 0.75, "min_p": 0.25,
      "typical_p": 0.5, "repeat_penalty": 1.5, "repeat_last_n": -1, "presence_penalty": 1.0, "frequency_penalty": -1.0,
      "stop": ["a", "b"], "logprobs": false})"));
  for (const std::string seed : {"9223372036854775808", "18446744073709551615"}) {
    EXPECT_EQ(chat_of(R"(, "options": {"seed": )" + seed + "}"), R"({"seed":)" + seed + R"(,"logprobs":false})");
  }
  EXPECT_EQ(chat_of(R"(, "options": {"seed": -1, "num_predict": -1})"), R"({"max_tokens":-1,"logprobs":false})");
  EXPECT_EQ(chat_of(R"(, "options": {"num_predict": -2, "temperature": null})"),
            R"({"max_tokens":-1,"logprobs":false})");
}

TEST_F(OllamaRequestTest, StreamsAndTruncatesUnlessItIsToldNotTo) {
  const auto usual = read("");
  ASSERT_TRUE(usual.ok());
  EXPECT_TRUE(usual->stream && usual->truncates);
  EXPECT_EQ(usual->max_context, 0u);
  const auto other = read(R"(, "stream": false, "truncate": false, "options": {"num_ctx": 64, "num_keep": 5})");
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->stream || other->truncates);
  EXPECT_EQ(other->max_context, 64u);
  EXPECT_EQ(other->n_keep, 5u);
}

TEST_F(OllamaRequestTest, FormatsAreResponseFormats) {
  EXPECT_EQ(chat_of(R"(, "format": "json")"), R"({"response_format":{"type":"json_object"},"logprobs":false})");
  EXPECT_EQ(chat_of(R"(, "format": {"type": "array"})"),
            R"({"response_format":{"type":"json_schema","json_schema":{"name":"format","schema":{"type":"array"}}},)"
            R"("logprobs":false})");
  for (const char* none : {"\"\"", "null"})
    EXPECT_EQ(chat_of(std::string(R"(, "format": )") + none), R"({"logprobs":false})");
  EXPECT_EQ(wrong_field(R"(, "format": "yaml")"), "format");
}

TEST_F(OllamaRequestTest, ThinkingIsAskedOfModelsThatThink) {
  EXPECT_EQ(chat_of(R"(, "think": false)"), R"({"logprobs":false,"chat_template_kwargs":{"enable_thinking":false}})");
  for (const char* on : {"true", "\"low\"", "\"max\""}) {
    EXPECT_EQ(chat_of(std::string(R"(, "think": )") + on), R"(error: "tiny" does not support thinking)");
  }
  const text::OutputFormat format = rig_->model().output_format;
  text::OutputFormat thinking = format;
  thinking.reasoning = text::TagPair{"<think>", "</think>"};
  rig_->set_output_format(thinking);
  const std::string level = chat_of(R"(, "think": "low")");
  rig_->set_output_format(format);
  EXPECT_EQ(level, R"({"logprobs":false,"chat_template_kwargs":{"enable_thinking":true},"reasoning_effort":"low"})");
}

TEST_F(OllamaRequestTest, WrongTypesNameTheirField) {
  for (const auto& [body, field] : {std::pair{R"(, "stream": 1)", "stream"},
                                    {R"(, "options": [])", "options"},
                                    {R"(, "options": {"temperature": "hot"})", "options.temperature"},
                                    {R"(, "options": {"seed": 1.5})", "options.seed"},
                                    {R"(, "options": {"num_ctx": "big"})", "options.num_ctx"},
                                    {R"(, "think": "very")", "think"},
                                    {R"(, "think": 1)", "think"},
                                    {R"(, "keep_alive": "soon")", "keep_alive"},
                                    {R"(, "keep_alive": {})", "keep_alive"},
                                    {R"(, "top_logprobs": 21)", "top_logprobs"},
                                    {R"(, "truncate": "no")", "truncate"},
                                    {R"(, "format": 7)", "format"},
                                    {R"(, "model": "")", "model"}}) {
    EXPECT_EQ(wrong_field(body), field) << body;
  }
}

TEST_F(OllamaRequestTest, KeepAliveIsSecondsOrADurationOfGo) {
  const auto ms_of = [](const std::string& value) -> double {
    const Json json = *parse_json(R"({"keep_alive": )" + value + "}");
    Fields fields(json);
    const auto wish = read_keep_alive(fields);
    if (!fields.status().ok() || !wish) return -2;
    return wish->duration ? static_cast<double>(wish->duration->count()) : -1;
  };
  EXPECT_EQ(ms_of("0"), 0);
  EXPECT_EQ(ms_of("300"), 300'000);
  EXPECT_EQ(ms_of("0.5"), 500);
  EXPECT_EQ(ms_of("\"5m\""), 300'000);
  EXPECT_EQ(ms_of("\"1h30m\""), 5'400'000);
  EXPECT_EQ(ms_of("\"1.5s\""), 1'500);
  EXPECT_EQ(ms_of("\"250ms\""), 250);
  EXPECT_EQ(ms_of("\"0\""), 0);
  EXPECT_EQ(ms_of("\"90\""), 90'000);
  for (const char* ever : {"-1", "\"-1\"", "\"-1m\"", "1e300"}) EXPECT_EQ(ms_of(ever), -1) << ever;
  for (const char* wrong : {"\"m\"", "\"5x\"", "\"-\"", "\"1h 30m\"", "true", "\"nan\""})
    EXPECT_EQ(ms_of(wrong), -2) << wrong;
}

TEST_F(OllamaRequestTest, MessagesAreSpelledAsChatCompletionsHaveThem) {
  const auto read_one = [](const std::string& message) -> std::string {
    const Json messages = *parse_json("[" + message + "]");
    const auto read = read_ollama_messages(messages);
    return read.ok() ? (*read)[0].dump() : "error: " + read.error().message;
  };
  EXPECT_EQ(read_one(R"({"role": "assistant", "content": "A", "thinking": "T", "images": []})"),
            R"({"role":"assistant","content":"A","reasoning_content":"T"})");
  EXPECT_EQ(read_one(R"({"role": "tool", "content": "7", "tool_name": "add"})"),
            R"({"role":"tool","content":"7","name":"add"})");
  EXPECT_EQ(read_one(R"({"role": "assistant"})"), R"({"role":"assistant","content":""})");
  EXPECT_EQ(read_one(R"({"role": "user", "content": "what?", "images": ["aGk="]})"),
            "error: messages[0].images: this model takes text only");
  EXPECT_EQ(read_one("7"), "error: messages[0]: expected an object");
}

// A chat of one system message, `n` long ones and a last question.
Json long_chat(int n) {
  Json messages = Json::array({{{"role", "system"}, {"content", "Stay."}}});
  for (int i = 0; i < n; ++i) {
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"},
                        {"content", "Message " + std::to_string(i) + ": the capital of France is Paris."}});
  }
  messages.push_back({{"role", "user"}, {"content", "Last?"}});
  return messages;
}

TEST_F(OllamaRequestTest, TooLongAChatLosesItsOldestMessages) {
  auto request = *read(R"(, "options": {"num_ctx": 200})");
  const auto prompt = read_ollama_chat_prompt(request, long_chat(40), nullptr, rig_->model());
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  EXPECT_LT(prompt->tokens.size(), 200u);
  EXPECT_NE(prompt->text.find("Stay."), std::string::npos);
  EXPECT_NE(prompt->text.find("Last?"), std::string::npos);
  EXPECT_NE(prompt->text.find("Message 39"), std::string::npos);
  EXPECT_EQ(prompt->text.find("Message 0:"), std::string::npos);
  // No more is dropped than must be: with one more message it would not fit.
  size_t first = 0;
  while (prompt->text.find("Message " + std::to_string(first) + ":") == std::string::npos) ++first;
  Json one_more = long_chat(40);
  one_more.erase(one_more.begin() + 1, one_more.begin() + static_cast<std::ptrdiff_t>(first));
  const auto longer =
      read_ollama_chat_prompt(*read(R"(, "options": {"num_ctx": 1000})"), one_more, nullptr, rig_->model());
  ASSERT_TRUE(longer.ok());
  EXPECT_GE(longer->tokens.size(), 200u);
}

TEST_F(OllamaRequestTest, WhatStillIsTooLongLosesItsMiddle) {
  auto request = *read(R"(, "options": {"num_ctx": 10, "num_keep": 3})");
  std::vector<TokenId> tokens;
  for (int i = 0; i < 20; ++i) tokens.push_back(TokenId{i});
  ASSERT_TRUE(cut_ollama_prompt(request, "prompt", rig_->model(), tokens).ok());
  std::vector<int> ids;
  for (const TokenId id : tokens) ids.push_back(to_index(id));
  EXPECT_EQ(ids, (std::vector<int>{0, 1, 2, 14, 15, 16, 17, 18, 19})) << "one place is left for the answer";
  request.truncates = false;
  tokens.resize(11);
  EXPECT_EQ(cut_ollama_prompt(request, "prompt", rig_->model(), tokens).error().code,
            ErrorCode::kContextLengthExceeded);
  tokens.resize(10);
  EXPECT_TRUE(cut_ollama_prompt(request, "prompt", rig_->model(), tokens).ok());
}

TEST(OllamaText, TimesAndErrorsAreSpelledAsClientsReadThem) {
  EXPECT_EQ(rfc3339(std::chrono::system_clock::time_point(std::chrono::microseconds(1'700'000'000'000'042))),
            "2023-11-14T22:13:20.000042Z");
  const HttpResponse full = ollama_error({429, "full", "", "rate_limit_exceeded"});
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(full.body, R"({"error":"full"})");
  EXPECT_EQ(ollama_error_line({500, "broken", "", ""}), "{\"error\":\"broken\"}\n");
}

}  // namespace
}  // namespace realizar::server
