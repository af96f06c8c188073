#include "server/call/chat_request.h"

#include <gtest/gtest.h>

#include "api/reasoning_plan.h"

namespace realizar::server {
namespace {

constexpr const char* kSwitch = "{% if enable_thinking %}<think>{% endif %}";
constexpr const char* kEfforts = "Reasoning: {{ reasoning_effort }}";
constexpr const char* kNeither = "<think>";

ReasoningWish wish(const std::string& body, const char* template_source) {
  const Json json = *parse_json(body);
  Fields fields(json);
  ReasoningOptions asked;
  EXPECT_TRUE(read_reasoning(fields, asked).ok()) << body;
  auto meant = reasoning_wish(asked, template_source);
  EXPECT_TRUE(meant.ok()) << body;
  return meant.ok() ? *meant : ReasoningWish{};
}

std::string wrong_field_of(const std::string& body) {
  const Json json = *parse_json(body);
  Fields fields(json);
  ReasoningOptions asked;
  const Status read = read_reasoning(fields, asked);
  if (!read.ok()) return read.error().subject;
  const auto meant = reasoning_wish(asked, kNeither);
  return meant.ok() ? "" : meant.error().subject;
}

std::optional<uint32_t> budget(const std::string& body, const char* template_source = kNeither) {
  return wish(body, template_source).budget;
}

TEST(ReasoningFields, SayNothingByThemselves) {
  const ReasoningWish nothing = wish("{}", kNeither);
  EXPECT_TRUE(nothing.variables.empty());
  EXPECT_EQ(nothing.budget, std::nullopt);
}

TEST(ReasoningFields, ABudgetHasManyNames) {
  for (const char* name : {"thinking_budget_tokens", "reasoning_budget", "reasoning_budget_tokens",
                           "thinking_token_budget", "thinking_budget"}) {
    EXPECT_EQ(budget("{\"" + std::string(name) + "\": 7}"), 7u) << name;
    EXPECT_EQ(budget("{\"" + std::string(name) + "\": -1}"), std::nullopt) << name;
    EXPECT_EQ(wrong_field_of("{\"" + std::string(name) + "\": -2}"), name);
    EXPECT_EQ(wrong_field_of("{\"" + std::string(name) + "\": \"7\"}"), name);
  }
  EXPECT_EQ(budget(R"({"thinking": {"type": "enabled", "budget_tokens": 7}})"), 7u);
  EXPECT_EQ(wish(R"({"reasoning_budget": 7})", kNeither).variables["thinking_budget"], 7);
}

TEST(ReasoningFields, ThinkingIsSwitchedByTheTemplateWhereItCan) {
  for (const char* body : {R"({"enable_thinking": false})", R"({"thinking": {"type": "disabled"}})",
                           R"({"reasoning_effort": "none"})", R"({"reasoning_budget": 0})"}) {
    const ReasoningWish off = wish(body, kSwitch);
    EXPECT_EQ(off.variables["enable_thinking"], false) << body;
    EXPECT_EQ(off.budget, std::nullopt) << body;
    EXPECT_EQ(budget(body, kNeither), 0u) << body;
  }
  EXPECT_EQ(wish(R"({"thinking": {"type": "adaptive"}})", kSwitch).variables["enable_thinking"], true);
  EXPECT_EQ(budget(R"({"thinking": {"type": "disabled", "budget_tokens": 9}})"), 0u);
}

TEST(ReasoningFields, EffortsAreTheTemplatesOrBudgets) {
  const std::pair<const char*, std::optional<uint32_t>> budgets[] = {
      {"none", 0},     {"minimal", 512}, {"low", 1024},         {"medium", 8192},
      {"high", 24576}, {"xhigh", {}},    {"max", std::nullopt},
  };
  for (const auto& [effort, expected] : budgets) {
    EXPECT_EQ(budget("{\"reasoning_effort\": \"" + std::string(effort) + "\"}"), expected) << effort;
  }
  const ReasoningWish told = wish(R"({"reasoning_effort": "low"})", kEfforts);
  EXPECT_EQ(told.variables["reasoning_effort"], "low");
  EXPECT_EQ(told.budget, std::nullopt);
  EXPECT_EQ(budget(R"({"reasoning_effort": "low", "reasoning_budget": 3})"), 3u);
  EXPECT_EQ(budget(R"({"reasoning_effort": "low", "enable_thinking": false})"), 0u);
}

TEST(ReasoningFields, TemplatesGetTheEffortsThatTheyKnow) {
  const auto told = [](const char* effort, const char* source) {
    return wish("{\"reasoning_effort\": \"" + std::string(effort) + "\"}", source).variables["reasoning_effort"];
  };
  EXPECT_EQ(told("minimal", kEfforts), "low");
  EXPECT_EQ(told("xhigh", kEfforts), "high");
  EXPECT_EQ(told("xhigh", "{% if reasoning_effort == 'xhigh' %}"), "xhigh");
  EXPECT_EQ(told("its own", kEfforts), "its own");
}

TEST(ReasoningFields, WrongOnesAreNamed) {
  EXPECT_EQ(wrong_field_of(R"({"reasoning_effort": "lots"})"), "reasoning_effort");
  EXPECT_EQ(wrong_field_of(R"({"reasoning_effort": 5})"), "reasoning_effort");
  EXPECT_EQ(wrong_field_of(R"({"thinking": true})"), "thinking");
  EXPECT_EQ(wrong_field_of(R"({"thinking": {"type": "on"}})"), "thinking.type");
  EXPECT_EQ(wrong_field_of(R"({"thinking": {"type": "enabled", "budget_tokens": "1"}})"), "thinking.budget_tokens");
  EXPECT_EQ(wrong_field_of(R"({"enable_thinking": "no"})"), "enable_thinking");
}

}  // namespace
}  // namespace realizar::server
