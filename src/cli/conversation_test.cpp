#include "cli/conversation.h"

#include <gtest/gtest.h>

namespace realizar::cli {
namespace {

// Roles and contents of the prompt, concatenated.
std::string prompt_of(const Conversation& conversation) {
  std::string text;
  const auto variables = conversation.template_variables();
  for (const auto& message : variables["messages"]) {
    text += message["role"].get<std::string>().substr(0, 1) + ":" + message["content"].get<std::string>() + " ";
  }
  return text;
}

TextGeneration said(const std::string& text, const std::string& reasoning = "") {
  TextGeneration generation{};
  generation.text = text;
  generation.reasoning = reasoning;
  return generation;
}

Conversation three_turns() {
  Conversation conversation;
  conversation.set_system("brief");
  for (const char* number : {"1", "2", "3"}) {
    conversation.ask(std::string("q") + number);
    conversation.answer(said(std::string("a") + number));
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
  conversation.answer(said("answer", "because"));
  const auto loaded = Conversation::from_json(conversation.to_json());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->to_json(), conversation.to_json());
  EXPECT_EQ(loaded->system(), "brief");
}

TEST(Conversation, AModelsBeginningStandsBeforeAllTurns) {
  Conversation conversation;
  conversation.set_system("own");
  ASSERT_TRUE(conversation
                  .set_beginning(R"([{"role": "system", "content": "the model's"}, {"role": "user", "content": "Hi"},
                                     {"role": "assistant", "content": "Hello."}])")
                  .ok());
  conversation.ask("q");
  EXPECT_EQ(conversation.template_variables().dump(),
            R"({"messages":[{"role":"system","content":"own"},{"role":"user","content":"Hi"},)"
            R"({"role":"assistant","content":"Hello."},{"role":"user","content":"q"}]})");
  EXPECT_EQ(conversation.to_json().find("Hello."), std::string::npos) << "the model has it";
  conversation.clear();
  EXPECT_EQ(conversation.template_variables()["messages"].size(), 3u);
  EXPECT_EQ(conversation.n_questions(), 0u);
  for (const char* wrong : {"{}", "[", "[7]", R"([{"role": "robot", "content": "x"}])"}) {
    EXPECT_FALSE(Conversation().set_beginning(wrong).ok()) << wrong;
  }
}

TEST(Conversation, GivesReasoningToTheTemplateBesideTheAnswer) {
  Conversation conversation;
  conversation.ask("q");
  conversation.answer(said("a", "because"));
  conversation.ask("q2");
  EXPECT_EQ(conversation.template_variables().dump(),
            R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a",)"
            R"("reasoning_content":"because"},{"role":"user","content":"q2"}]})");
}

TEST(Conversation, RefusesFilesOfAnotherForm) {
  for (const char* text :
       {"", "no JSON", "[]", "{}", R"({"messages": 1})", R"({"messages": [1]})", R"({"messages": [{"role": "user"}]})",
        R"({"messages": [{"role": 1, "content": "x"}]})", R"({"messages": [{"role": "robot", "content": "x"}]})",
        R"({"messages": [{"role": "user", "content": "x"}, {"role": "system", "content": "y"}]})"}) {
    EXPECT_FALSE(Conversation::from_json(text).ok()) << text;
  }
}

TEST(Conversation, KeepsCallsOfToolsAndWhatTheyGave) {
  Conversation conversation;
  conversation.ask("q");
  TextGeneration calling = said("I look.");
  calling.calls = {{"files__read", R"({"path": "a"})"}, {"files__list", ""}, {"files__read", "{\"pa"}};
  conversation.answer(calling);
  conversation.add_tool_result(0, "text of a");
  conversation.add_tool_result(1, "a b");
  conversation.add_tool_result(7, "of no call");
  conversation.answer(said("done"));
  const auto loaded = Conversation::from_json(conversation.to_json());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->to_json(), conversation.to_json());
  EXPECT_EQ(prompt_of(*loaded), "u:q a:I look. t:text of a t:a b a:done ");

  const auto messages = conversation.template_variables({"tool"})["messages"];
  const auto& calls = messages[1]["tool_calls"];
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0]["function"]["arguments"]["path"], "a");
  EXPECT_EQ(calls[1]["function"]["arguments"], nlohmann::ordered_json::object());
  EXPECT_EQ(calls[2]["function"]["arguments"], "{\"pa");
  EXPECT_EQ(messages[2]["tool_call_id"], calls[0]["id"]);
  EXPECT_EQ(messages[3]["tool_call_id"], calls[1]["id"]);
  EXPECT_EQ(messages[3]["name"], "files__list");
  EXPECT_NE(calls[0]["id"], calls[1]["id"]);

  EXPECT_EQ(conversation.take_back(), "q");
  EXPECT_EQ(prompt_of(conversation), "");
}

TEST(Conversation, RefusesCallsThatAreNone) {
  for (const char* calls : {"1", "[1]", "[{}]", R"([{"id": "1", "function": {"name": "f", "arguments": 1}}])",
                            R"([{"id": 1, "function": {"name": "f", "arguments": {}}}])"}) {
    const std::string text =
        R"({"messages": [{"role": "assistant", "content": "", "tool_calls": )" + std::string(calls) + "}]}";
    EXPECT_FALSE(Conversation::from_json(text).ok()) << calls;
  }
}

}  // namespace
}  // namespace realizar::cli
