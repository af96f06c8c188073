#include "cli/chat_settings.h"

#include <gtest/gtest.h>

#include "sampling/parameters.h"

namespace realizar::cli {
namespace {

TEST(ChatSettings, AreChangedAndShown) {
  AnswerOptions options;
  ASSERT_TRUE(change_setting(options, "temperature", "0.25").ok());
  ASSERT_TRUE(change_setting(options, "max_tokens", "7").ok());
  EXPECT_EQ(options.sampling.temperature, 0.25f);
  EXPECT_EQ(options.max_tokens, 7u);
  const std::string text = settings_text(options);
  EXPECT_NE(text.find("temperature 0.25\n"), std::string::npos);
  EXPECT_NE(text.find("max_tokens 7\n"), std::string::npos);
  ASSERT_TRUE(change_setting(options, "max_tokens", "none").ok());
  EXPECT_EQ(options.max_tokens, std::nullopt);
}

TEST(ChatSettings, SeedIsNoneUntilItIsGiven) {
  AnswerOptions options;
  options.sampling.seed = 7;
  EXPECT_NE(settings_text(options).find("seed none\n"), std::string::npos) << settings_text(options);
  ASSERT_TRUE(change_setting(options, "seed", "18446744073709551615").ok());
  EXPECT_EQ(options.seed, UINT64_MAX);
  EXPECT_NE(settings_text(options).find("seed 18446744073709551615\n"), std::string::npos);
  ASSERT_TRUE(change_setting(options, "seed", "none").ok());
  EXPECT_EQ(options.seed, std::nullopt);
}

TEST(ChatSettings, ReasoningHasABudgetAndAnEffort) {
  AnswerOptions options;
  options.reasoning.enabled = false;
  EXPECT_NE(settings_text(options).find("reasoning_budget none\nreasoning_effort none\n"), std::string::npos);
  ASSERT_TRUE(change_setting(options, "reasoning_effort", "low").ok());
  ASSERT_TRUE(change_setting(options, "reasoning_budget", "100").ok());
  EXPECT_EQ(options.reasoning.enabled, std::nullopt);
  EXPECT_EQ(options.reasoning.effort, "low");
  EXPECT_EQ(options.reasoning.budget, 100);
  EXPECT_NE(settings_text(options).find("reasoning_budget 100\nreasoning_effort low\n"), std::string::npos);
  ASSERT_TRUE(change_setting(options, "reasoning_effort", "default").ok());
  ASSERT_TRUE(change_setting(options, "reasoning_budget", "none").ok());
  EXPECT_TRUE(options.reasoning.asks_nothing());
}

TEST(ChatSettings, HaveEveryParameter) {
  for (const SamplingParameter& parameter : kSamplingParameters) {
    AnswerOptions options;
    const std::string name(parameter.name);
    ASSERT_TRUE(change_setting(options, name, "1").ok()) << name;
    EXPECT_NE(('\n' + settings_text(options)).find('\n' + name + " 1\n"), std::string::npos) << name;
  }
}

TEST(ChatSettings, ThatCannotBeSetStayAsTheyAre) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"max_tokens", "banana"},
      {"max_tokens", "-1"},
      {"max_tokens", ""},
      {"temperature", "-1"},
      {"temperature", "nan"},
      {"temperature", "warm"},
      {"top_k", "1.5"},
      {"top_k", "-3"},
      {"top_p", "3"},
      {"min_p", "-0.1"},
      {"repeat_penalty", "0"},
      {"repeat_last_n", "-2"},
      {"typical_p", "2"},
      {"seed", "-1"},
      {"frequency_penalty", "3"},
      {"colour", "1"},
      {"reasoning_budget", "-1"},
      {"reasoning_budget", "much"},
      {"reasoning_effort", ""},
  };
  AnswerOptions options;
  options.max_tokens = 9;
  const std::string before = settings_text(options);
  for (const auto& [name, value] : wrong) {
    const auto status = change_setting(options, name, value);
    ASSERT_FALSE(status.ok()) << name << " " << value;
    EXPECT_NE(status.error().message.find(name), std::string::npos) << status.error().message;
    EXPECT_EQ(settings_text(options), before) << name << " " << value;
  }
}

}  // namespace
}  // namespace realizar::cli
