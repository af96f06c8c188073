#include "api/text_builder.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "api/text_assets.h"
#include "formats/model_file.h"
#include "text/output/sample_forms.h"

namespace realizar {
namespace {

const text::OutputFormat kFormat = text::output_of(text::hermes_form(), text::TagPair{"<think>", "</think>"});
constexpr const char* kTools = R"([{"type": "web_search"},
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}])";

class TextOfAnAnswer : public testing::Test {
 protected:
  // The result for an answer that consists of `written`, token by token.
  TextGeneration read(const std::string& written, const TextOptions& options, const std::string& prompt = "Hi",
                      FinishReason reason = FinishReason::kStop) {
    const auto ids = [this](const std::string& text) { return tokenizer_.encode(text, {.add_special = false}); };
    const auto plan = plan_text(options);
    EXPECT_TRUE(plan.ok());
    told_.clear();
    const TextCallback on_text = [this](const TextEvent& event) {
      told_[event.kind] += event.text;
      return true;
    };
    TextBuilder builder(tokenizer_, kFormat, ids(prompt), *plan, on_text);
    Generation generation;
    generation.finish_reason = reason;
    for (const TokenId id : ids(written)) {
      generation.tokens.push_back(id);
      if (!builder.push({id, 0, {}, {}})) break;
    }
    return builder.finish(std::move(generation));
  }

  text::Tokenizer tokenizer_ =
      load_tokenizer(*ModelFile::open(RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf")).value();
  std::map<TextKind, std::string> told_;
};

TEST_F(TextOfAnAnswer, IsToldFromItsReasoningWhereThatIsAskedFor) {
  const std::string written = "<think>\nFrance, so Paris.\n</think>\n\nIt is Paris.";
  const auto split = read(written, {.split_reasoning = true});
  EXPECT_EQ(split.reasoning, "France, so Paris.");
  EXPECT_EQ(split.text, "It is Paris.");
  EXPECT_EQ(told_[TextKind::kReasoning], split.reasoning);
  EXPECT_EQ(told_[TextKind::kContent], split.text);
  const auto whole = read(written, {});
  EXPECT_EQ(whole.reasoning, "");
  EXPECT_EQ(whole.text, written);
}

TEST_F(TextOfAnAnswer, IsCancelledOnceWhereItsCallbackRefusesAnyPieceOfIt) {
  const auto ids = tokenizer_.encode("It is Paris, of cour", {.add_special = false});
  const auto plan = plan_text({.stop = {"Paris!", "course"}});
  size_t n_pieces = 0, n_calls = 0, n_refused = 0;
  const TextCallback on_text = [&](const TextEvent&) { return ++n_calls != n_refused; };
  const auto told = [&] {
    n_calls = 0;
    TextBuilder builder(tokenizer_, kFormat, ids, *plan, on_text);
    Generation generation;
    generation.finish_reason = FinishReason::kLength;
    for (const TokenId id : ids) {
      if (!builder.push({id, 0, {}, {}})) break;
    }
    return builder.finish(std::move(generation)).finish_reason;
  };
  EXPECT_EQ(told(), FinishReason::kLength);
  n_pieces = n_calls;
  ASSERT_GT(n_pieces, ids.size()) << "what was held back for a stop string is told at the end";
  for (n_refused = 1; n_refused <= n_pieces; ++n_refused) {
    EXPECT_EQ(told(), FinishReason::kCancelled) << n_refused;
    EXPECT_EQ(n_calls, n_refused);
  }
}

TEST_F(TextOfAnAnswer, BeginsInReasoningWhereThePromptOpensIt) {
  const auto split = read("France, so Paris.</think>It is Paris.", {.split_reasoning = true}, "user Hi <think>\n");
  EXPECT_EQ(split.reasoning, "France, so Paris.");
  EXPECT_EQ(split.text, "It is Paris.");
}

TEST_F(TextOfAnAnswer, KeepsWhatIsHeldBackUntilItsEnd) {
  EXPECT_EQ(read("<think>cut off </th", {.split_reasoning = true}).reasoning, "cut off </th");
  EXPECT_EQ(read("a < b\n", {.split_reasoning = true}).text, "a < b\n");
  EXPECT_EQ(read("a </th", {.stop = {"</think>"}}, "Hi", FinishReason::kCancelled).text, "a ");
}

TEST_F(TextOfAnAnswer, EndsBeforeAStopStringWithAllThatStandsBeforeIt) {
  const auto split = read("<think>one</think>two STOP three", {.stop = {" STOP"}, .split_reasoning = true}, "Hi",
                          FinishReason::kCancelled);
  EXPECT_EQ(split.reasoning, "one");
  EXPECT_EQ(split.text, "two");
  EXPECT_EQ(split.finish_reason, FinishReason::kStop);
}

TEST_F(TextOfAnAnswer, HasNoTextOfItsPrompt) {
  const auto plan = plan_text({});
  size_t n_told = 0;
  const TextCallback on_text = [&n_told](const TextEvent& event) {
    EXPECT_EQ(event.text, "");
    n_told += event.token->is_prompt ? 1 : 0;
    return true;
  };
  TextBuilder builder(tokenizer_, kFormat, {}, *plan, on_text);
  EXPECT_TRUE(builder.push({.id = TokenId{70}, .index = 1, .logprob = {}, .top = {}, .is_prompt = true}));
  EXPECT_EQ(builder.finish({}).text, "");
  EXPECT_EQ(n_told, 1u);
}

TEST_F(TextOfAnAnswer, HasCallsOfItsToolsAlone) {
  const std::string written =
      "Let me see. <tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}</tool_call>";
  const auto split = read(written, {.tools_json = kTools});
  EXPECT_EQ(split.text, "Let me see.");
  ASSERT_EQ(split.calls.size(), 1u);
  EXPECT_EQ(split.calls[0].name, "weather");
  EXPECT_EQ(split.calls[0].arguments_json, R"({"city": "Paris"})");
  EXPECT_EQ(told_[TextKind::kToolCallBegin], "weather");
  EXPECT_EQ(told_[TextKind::kToolCallArguments], split.calls[0].arguments_json);
  EXPECT_EQ(read(written, {.split_reasoning = true}).text, written) << "without tools, calls are text";
}

TEST(PlanText, RefusesWhatAreNoTools) {
  for (const char* tools : {"{}", "[5]", R"([{"function": {"name": "no name"}}])",
                            R"([{"function": {"name": "f", "parameters": 5}}])", "[{]"}) {
    const auto plan = plan_text({.tools_json = tools});
    ASSERT_FALSE(plan.ok()) << tools;
    EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(plan.error().subject.substr(0, 5), "tools");
  }
}

}  // namespace
}  // namespace realizar
