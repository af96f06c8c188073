#include "cli/conversation.h"

#include <gtest/gtest.h>

namespace realizar::cli {
namespace {

// Roles and contents of the prompt, one after the other.
std::string prompt_of(const Conversation& conversation) {
  std::string text;
  const auto variables = conversation.template_variables();
  for (const auto& message : variables["messages"]) {
    text += message["role"].get<std::string>().substr(0, 1) + ":" + message["content"].get<std::string>() + " ";
  }
  return text;
}

Conversation three_turns() {
  Conversation conversation;
  conversation.set_system("brief");
  for (const char* number : {"1", "2", "3"}) {
    conversation.ask(std::string("q") + number);
    conversation.answer(std::string("a") + number, "");
  }
  return conversation;
}

TEST(Conversation, LeavesTheOldestTurnsOutAndKeepsTheSystemMessage) {
  Conversation conversation = three_turns();
  conversation.ask("q4");
  EXPECT_EQ(prompt_of(conversation), "s:brief u:q1 a:a1 u:q2 a:a2 u:q3 a:a3 u:q4 ");
  EXPECT_TRUE(conversation.leave_out_oldest());
  EXPECT_EQ(prompt_of(conversation), "s:brief u:q2 a:a2 u:q3 a:a3 u:q4 ");
  EXPECT_TRUE(conversation.leave_out_oldest());
  EXPECT_TRUE(conversation.leave_out_oldest());
  EXPECT_EQ(prompt_of(conversation), "s:brief u:q4 ");
  EXPECT_FALSE(conversation.leave_out_oldest());
  EXPECT_EQ(prompt_of(conversation), "s:brief u:q4 ");
  EXPECT_NE(conversation.to_json().find("q1"), std::string::npos);
}

TEST(Conversation, TakesQuestionsBackWithTheirAnswers) {
  Conversation conversation = three_turns();
  EXPECT_EQ(conversation.take_back(), "q3");
  conversation.ask("another");
  EXPECT_EQ(conversation.take_back(), "another");
  EXPECT_EQ(prompt_of(conversation), "s:brief u:q1 a:a1 u:q2 a:a2 ");
  EXPECT_EQ(conversation.take_back(), "q2");
  EXPECT_EQ(conversation.take_back(), "q1");
  EXPECT_EQ(conversation.take_back(), "");
  EXPECT_EQ(prompt_of(conversation), "s:brief ");
}

TEST(Conversation, IsSavedAndLoadedAsItWas) {
  Conversation conversation = three_turns();
  conversation.ask("bad byte \xff");
  conversation.answer("answer", "because");
  const auto loaded = Conversation::from_json(conversation.to_json());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->to_json(), conversation.to_json());
  EXPECT_EQ(loaded->system(), "brief");
}

TEST(Conversation, GivesReasoningToTheTemplateBesideTheAnswer) {
  Conversation conversation;
  conversation.ask("q");
  conversation.answer("a", "because");
  conversation.ask("q2");
  EXPECT_EQ(conversation.template_variables().dump(),
            R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a",)"
            R"("reasoning_content":"because"},{"role":"user","content":"q2"}]})");
}

TEST(Conversation, RefusesFilesOfAnotherForm) {
  for (const char* text :
       {"", "no JSON", "[]", "{}", R"({"messages": 1})", R"({"messages": [1]})", R"({"messages": [{"role": "user"}]})",
        R"({"messages": [{"role": 1, "content": "x"}]})", R"({"messages": [{"role": "tool", "content": "x"}]})",
        R"({"messages": [{"role": "user", "content": "x"}, {"role": "system", "content": "y"}]})"}) {
    EXPECT_FALSE(Conversation::from_json(text).ok()) << text;
  }
}

}  // namespace
}  // namespace realizar::cli
