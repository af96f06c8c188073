#include "text/named_templates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/chat_template.h"

namespace realizar::text {
namespace {

std::string rendered(std::string_view name, bool add_generation_prompt) {
  const auto parsed = ChatTemplate::parse(find_named_template(name).value());
  const nlohmann::ordered_json variables{{"messages",
                                          {{{"role", "system"}, {"content", "Be brief."}},
                                           {{"role", "user"}, {"content", "Hi"}},
                                           {{"role", "assistant"}, {"content", "Yes?"}},
                                           {{"role", "user"}, {"content", "Go"}}}},
                                         {"add_generation_prompt", add_generation_prompt},
                                         {"bos_token", "<s>"}};
  std::string text;
  const auto pieces = parsed->render(variables, 0);
  for (const PromptPiece& piece : *pieces) text += piece.text;
  return text;
}

TEST(NamedTemplates, WriteConversationsAsTheirModelsExpectThem) {
  EXPECT_EQ(rendered("chatml", true),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYes?"
            "<|im_end|>\n<|im_start|>user\nGo<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(rendered("llama3", false),
            "<s><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user"
            "<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nYes?<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nGo<|eot_id|>");
  EXPECT_EQ(rendered("gemma", true),
            "<s><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nYes?<end_of_turn>\n"
            "<start_of_turn>user\nGo<end_of_turn>\n<start_of_turn>model\n");
  EXPECT_EQ(rendered("command-r", true),
            "<s><|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>Be brief.<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|>"
            "<|USER_TOKEN|>Hi<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>Yes?<|END_OF_TURN_TOKEN|>"
            "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>Go<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>");
  EXPECT_EQ(rendered("phi3", true),
            "<|system|>\nBe brief.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\nYes?<|end|>\n<|user|>\nGo<|end|>\n"
            "<|assistant|>\n");
  EXPECT_EQ(
      rendered("zephyr", false),
      "<|system|>\nBe brief.<|endoftext|>\n<|user|>\nHi<|endoftext|>\n<|assistant|>\nYes?<|endoftext|>\n<|user|>\n"
      "Go<|endoftext|>\n");
}

TEST(NamedTemplates, AreFoundByTheirNamesAlone) {
  for (const char* name : {"", "chat", "ChatML"}) EXPECT_FALSE(find_named_template(name)) << name;
  EXPECT_EQ(template_names(), "chatml, command-r, gemma, llama3, phi3, zephyr");
}

}  // namespace
}  // namespace realizar::text
