#include "text/answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "text/output/sample_forms.h"
#include "text/tokenizer/byte_tokenizer_rig.h"

namespace realizar::text {
namespace {

using EventKind = OutputEvent::Kind;

const OutputFormat kFormat = output_of(hermes_form(), TagPair{"<think>", "</think>"});
const std::vector<ToolSpec> kOneTool{{"weather", nlohmann::ordered_json::object()}};
constexpr const char* kCall = "<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>";

// An answer whose tokens are bytes, run to its end.
class ByteAnswer {
 public:
  ByteAnswer(const std::string& written, const AnswerOptions& options, FinishReason reason = FinishReason::kStop)
      : answer(tokenizer(), options) {
    for (const char c : written) {
      take(answer.push(byte_token(static_cast<uint8_t>(c))));
      largest_window = std::max(largest_window, answer.n_tokens() - answer.first_open_token());
      if (answer.is_stopped()) break;
    }
    take(answer.finish(reason));
  }

  std::string text(EventKind kind) const {
    std::string all;
    for (const OutputEvent& event : events) all += event.kind == kind ? event.text : "";
    return all;
  }
  size_t count(EventKind kind) const {
    return static_cast<size_t>(std::ranges::count(events, kind, &OutputEvent::kind));
  }

  Answer answer;
  std::vector<OutputEvent> events;
  std::vector<uint32_t> tokens;
  uint32_t largest_window = 0;

 private:
  static const Tokenizer& tokenizer() {
    static const Tokenizer bytes = make_byte_tokenizer({}, false);
    return bytes;
  }
  void take(AnswerPart part) {
    events.insert(events.end(), part.events.begin(), part.events.end());
    tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
  }
};

std::vector<uint32_t> range(uint32_t begin, uint32_t end) {
  std::vector<uint32_t> all;
  for (uint32_t i = begin; i < end; ++i) all.push_back(i);
  return all;
}

TEST(Answer, IsContentWhereNoFormatIsGiven) {
  const ByteAnswer answer("<think>a</think>b", {});
  EXPECT_EQ(answer.text(EventKind::kContent), "<think>a</think>b");
  EXPECT_EQ(answer.answer.n_reasoning_tokens(), 0u);
  EXPECT_FALSE(answer.answer.has_calls());
}

TEST(Answer, HasReasoningContentAndCalls) {
  const ByteAnswer answer(std::string("<think>why</think>so") + kCall, {.format = kFormat, .tools = kOneTool});
  EXPECT_EQ(answer.text(EventKind::kReasoning), "why");
  EXPECT_EQ(answer.text(EventKind::kContent), "so");
  EXPECT_EQ(answer.text(EventKind::kToolCallBegin), "weather");
  EXPECT_EQ(answer.text(EventKind::kToolCallArguments), "{}");
  EXPECT_EQ(answer.count(EventKind::kToolCallEnd), 1u);
  EXPECT_TRUE(answer.answer.has_calls());
  EXPECT_GE(answer.answer.n_reasoning_tokens(), 2u) << "those whose reasoning was known when they came";
  EXPECT_LT(answer.answer.n_reasoning_tokens(), 13u);
}

TEST(Answer, EndsBeforeAStopString) {
  const ByteAnswer answer("one STOP two", {.stop = {"STOP"}}, FinishReason::kCancelled);
  EXPECT_EQ(answer.text(EventKind::kContent), "one ");
  EXPECT_TRUE(answer.answer.is_stopped());
  EXPECT_EQ(answer.answer.reason(), FinishReason::kStop);
  EXPECT_EQ(answer.answer.stop_string(), "STOP");
  EXPECT_EQ(answer.answer.n_tokens(), 8u) << "the tokens of the stop string were made too";
  const ByteAnswer later("one STOP two", {.stop = {"STOP"}, .min_tokens = 8}, FinishReason::kLength);
  EXPECT_EQ(later.text(EventKind::kContent), "one STOP two");
  EXPECT_TRUE(later.answer.is_cut());
}

TEST(Answer, EndsWithItsOneCall) {
  const std::string two = std::string(kCall) + "\n" + kCall;
  const ByteAnswer both(two, {.format = kFormat, .tools = kOneTool});
  EXPECT_EQ(both.count(EventKind::kToolCallEnd), 2u);
  const ByteAnswer one(two, {.format = kFormat, .tools = kOneTool, .one_call = true}, FinishReason::kCancelled);
  EXPECT_EQ(one.count(EventKind::kToolCallBegin), 1u);
  EXPECT_EQ(one.count(EventKind::kToolCallEnd), 1u);
  EXPECT_TRUE(one.answer.is_stopped());
  EXPECT_EQ(one.answer.reason(), FinishReason::kStop);
  EXPECT_LT(one.answer.n_tokens(), two.size() / 2) << "it is over with its arguments";
}

TEST(Answer, BeginsWithTheMarkThatThePromptHolds) {
  const ByteAnswer answer("R</think>A", {.content_begin = "<think>\n"});
  EXPECT_EQ(answer.text(EventKind::kContent), "<think>\nR</think>A");
  EXPECT_EQ(ByteAnswer("", {.content_begin = "<think>\n"}).text(EventKind::kContent), "");
}

TEST(Answer, HasNoEndOfACallThatWasCut) {
  const std::string cut = "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Pa";
  const AnswerOptions options{.format = kFormat, .tools = kOneTool};
  const ByteAnswer at_limit(cut, options, FinishReason::kLength);
  EXPECT_EQ(at_limit.count(EventKind::kToolCallBegin), 1u);
  EXPECT_EQ(at_limit.count(EventKind::kToolCallEnd), 0u);
  EXPECT_TRUE(at_limit.answer.is_cut());
  const ByteAnswer in_character(cut + "\xC3", options, FinishReason::kLength);
  EXPECT_EQ(in_character.text(EventKind::kToolCallArguments), at_limit.text(EventKind::kToolCallArguments));
  const ByteAnswer by_itself(cut, options, FinishReason::kStop);
  EXPECT_EQ(by_itself.count(EventKind::kToolCallEnd), 0u);
  EXPECT_FALSE(by_itself.answer.is_cut());
  const ByteAnswer whole(cut + "ris\"}", options, FinishReason::kStop);
  EXPECT_EQ(whole.count(EventKind::kToolCallEnd), 1u) << "only the end of the object around is missing";
}

TEST(Answer, TellsTheTokensThatItHas) {
  EXPECT_TRUE(ByteAnswer("ab", {}).tokens.empty());
  const ByteAnswer all("ab STOP", {.stop = {"STOP"}, .tells_tokens = true});
  EXPECT_EQ(all.tokens, range(0, 3)) << "those of the stop string are no part of it";
  const ByteAnswer held("abST", {.stop = {"STOP"}, .tells_tokens = true});
  EXPECT_EQ(held.tokens, range(0, 4)) << "what was held back was no stop string after all";
}

TEST(Answer, TellsTheTokensOfItsContentAlone) {
  const std::string reasoning = "<think>" + std::string(200, 'w') + "</think>";
  const ByteAnswer answer(reasoning + "so", {.format = kFormat, .tells_tokens = true, .content_tokens_only = true});
  const auto begin = static_cast<uint32_t>(reasoning.size());
  EXPECT_EQ(answer.tokens, range(begin, begin + 2));
  EXPECT_LT(answer.largest_window, 20u) << "tokens of reasoning do not wait for its end";
}

}  // namespace
}  // namespace realizar::text
