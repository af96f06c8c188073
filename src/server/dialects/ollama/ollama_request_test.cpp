#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/try.h"
#include "server/call/dialect_test_rig.h"
#include "server/dialects/ollama/ollama_request.h"

namespace realizar::server {
namespace {

class OllamaRequestTest : public DialectTest {
 protected:
  static Result<OllamaRequest> read(const std::string& more) {
    const Json json = *parse_json(R"({"model": "tiny")" + more + "}");
    Fields fields(json);
    OllamaRequest request(rig_->model(), rig_->context);
    RZ_CHECK_OK(read_ollama_request(fields, request));
    return request;
  }
  static Request generation_of(const std::string& more) {
    const auto request = read(more);
    EXPECT_TRUE(request.ok()) << (request.ok() ? "" : request.error().message);
    return request.ok() ? request->chat.generation.request : Request();
  }
  static std::string wrong_field(const std::string& more) { return field_of(read(more)); }
};

TEST_F(OllamaRequestTest, OptionsSayHowAnswersAreGenerated) {
  const auto read_all =
      read(R"(, "options": {"num_predict": 7, "seed": 3, "temperature": 0.5, "top_k": 4, "top_p": 0.75,
      "min_p": 0.25, "typical_p": 0.5, "repeat_penalty": 1.5, "repeat_last_n": -1, "presence_penalty": 1,
      "frequency_penalty": -1, "stop": ["a", "b"], "num_gpu": 1, "use_mmap": true})");
  ASSERT_TRUE(read_all.ok()) << read_all.error().message;
  const GenerationFields& generation = read_all->chat.generation;
  const SamplingParams& params = generation.request.sampling;
  EXPECT_EQ(generation.request.max_tokens, 7u);
  EXPECT_EQ(generation.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(params.seed, 3u);
  EXPECT_EQ(params.temperature, 0.5f);
  EXPECT_EQ(params.top_k, 4);
  EXPECT_EQ(params.top_p, 0.75f);
  EXPECT_EQ(params.min_p, 0.25f);
  EXPECT_EQ(params.typical_p, 0.5f);
  EXPECT_EQ(params.repeat_penalty, 1.5f);
  EXPECT_EQ(params.repeat_last_n, -1);
  EXPECT_EQ(params.presence_penalty, 1.0f);
  EXPECT_EQ(params.frequency_penalty, -1.0f);
  for (const uint64_t seed : {uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_EQ(generation_of(R"(, "options": {"seed": )" + std::to_string(seed) + "}").sampling.seed, seed);
  }
  EXPECT_NE(generation_of(R"(, "options": {"seed": -1})").sampling.seed, UINT64_MAX) << "-1 is a random one";
  for (const char* none : {"-1", "-2", "0"}) {
    const Request request =
        generation_of(std::string(R"(, "options": {"temperature": null, "num_predict": )") + none + "}");
    EXPECT_EQ(request.max_tokens, std::nullopt) << none;
  }
}

TEST_F(OllamaRequestTest, StreamsAndTruncatesUnlessItIsToldNotTo) {
  const auto usual = read("");
  ASSERT_TRUE(usual.ok());
  EXPECT_TRUE(usual->chat.generation.stream && usual->truncates);
  EXPECT_EQ(usual->max_context, 0u);
  const auto other = read(R"(, "stream": false, "truncate": false, "options": {"num_ctx": 64, "num_keep": 5})");
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->chat.generation.stream || other->truncates);
  EXPECT_EQ(other->max_context, 64u);
  EXPECT_EQ(other->n_keep, 5u);
}

TEST_F(OllamaRequestTest, FormatsAreForms) {
  const auto form = [](const std::string& format) { return read(R"(, "format": )" + format)->chat.form; };
  EXPECT_EQ(form("\"json\"").source, R"({"type":"object"})");
  EXPECT_EQ(form(R"({"type": "array"})").source, R"({"type":"array"})");
  EXPECT_EQ(form(R"({"type": "array"})").where, "format");
  for (const char* none : {"\"\"", "null"}) EXPECT_EQ(form(none).kind, AnswerForm::Kind::kFree) << none;
  EXPECT_EQ(wrong_field(R"(, "format": "yaml")"), "format");
}

TEST_F(OllamaRequestTest, ThinkingIsAskedOfModelsThatThink) {
  const auto off = read(R"(, "think": false)");
  ASSERT_TRUE(off.ok());
  EXPECT_EQ(off->chat.reasoning.enabled, false);
  EXPECT_EQ(off->chat.template_variables, (Json{{"enable_thinking", false}}));
  for (const char* on : {"true", "\"low\"", "\"max\""}) {
    EXPECT_EQ(read(std::string(R"(, "think": )") + on).error().message, R"("tiny" does not support thinking)");
  }
  const text::OutputFormat format = rig_->model().output_format;
  text::OutputFormat thinking = format;
  thinking.reasoning = text::TagPair{"<think>", "</think>"};
  rig_->set_output_format(thinking);
  const auto low = read(R"(, "think": "low")"), most = read(R"(, "think": "max")");
  rig_->set_output_format(format);
  ASSERT_TRUE(low.ok() && most.ok());
  EXPECT_EQ(low->chat.template_variables, (Json{{"enable_thinking", true}}));
  EXPECT_EQ(low->chat.reasoning.effort, "low");
  EXPECT_EQ(most->chat.reasoning.effort, "high");
}

TEST_F(OllamaRequestTest, WrongTypesNameTheirField) {
  for (const auto& [body, field] : {std::pair{R"(, "stream": 1)", "stream"},
                                    {R"(, "options": [])", "options"},
                                    {R"(, "options": {"temperature": "hot"})", "options.temperature"},
                                    {R"(, "options": {"temperature": -1})", "options.temperature"},
                                    {R"(, "options": {"seed": 1.5})", "options.seed"},
                                    {R"(, "options": {"stop": [5]})", "options.stop"},
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

TEST_F(OllamaRequestTest, MessagesHaveOtherNamesForSomeMembers) {
  const auto read_one = [](const std::string& message) -> std::string {
    const Json messages = *parse_json("[" + message + "]");
    const auto read = read_ollama_messages(messages);
    return read.ok() ? template_json(read->front()).dump() : "error: " + read.error().message;
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
std::vector<ChatMessage> long_chat(int n) {
  std::vector<ChatMessage> messages{{Role::kSystem, "Stay."}};
  for (int i = 0; i < n; ++i) {
    messages.push_back({i % 2 == 0 ? Role::kUser : Role::kAssistant,
                        "Message " + std::to_string(i) + ": the capital of France is Paris."});
  }
  messages.push_back({Role::kUser, "Last?"});
  return messages;
}

TEST_F(OllamaRequestTest, TooLongAChatLosesItsOldestMessages) {
  auto request = *read(R"(, "options": {"num_ctx": 200})");
  request.chat.messages = long_chat(40);
  const auto prompt = ollama_chat_prompt(request, nullptr);
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  EXPECT_LT(prompt->tokens.size(), 200u);
  EXPECT_NE(prompt->text.find("Stay."), std::string::npos);
  EXPECT_NE(prompt->text.find("Last?"), std::string::npos);
  EXPECT_NE(prompt->text.find("Message 39"), std::string::npos);
  EXPECT_EQ(prompt->text.find("Message 0:"), std::string::npos);
  // No more is dropped than must be: with one more message it would not fit.
  size_t first = 0;
  while (prompt->text.find("Message " + std::to_string(first) + ":") == std::string::npos) ++first;
  auto wider = *read(R"(, "options": {"num_ctx": 1000})");
  wider.chat.messages = long_chat(40);
  const auto begin = wider.chat.messages.begin();
  wider.chat.messages.erase(begin + 1, begin + static_cast<std::ptrdiff_t>(first));
  const auto longer = ollama_chat_prompt(wider, nullptr);
  ASSERT_TRUE(longer.ok());
  EXPECT_GE(longer->tokens.size(), 200u);
}

TEST_F(OllamaRequestTest, WhatStillIsTooLongLosesItsMiddle) {
  auto request = *read(R"(, "options": {"num_ctx": 10, "num_keep": 3})");
  std::vector<TokenId> tokens;
  for (int i = 0; i < 20; ++i) tokens.push_back(TokenId{i});
  ASSERT_TRUE(cut_ollama_prompt(request, "prompt", tokens).ok());
  std::vector<int> ids;
  for (const TokenId id : tokens) ids.push_back(to_index(id));
  EXPECT_EQ(ids, (std::vector<int>{0, 1, 2, 14, 15, 16, 17, 18, 19})) << "one place is left for the answer";
  request.truncates = false;
  tokens.resize(11);
  EXPECT_EQ(cut_ollama_prompt(request, "prompt", tokens).error().code, ErrorCode::kContextLengthExceeded);
  tokens.resize(10);
  EXPECT_TRUE(cut_ollama_prompt(request, "prompt", tokens).ok());
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
