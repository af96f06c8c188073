#include "cli/modelfile.h"

#include <gtest/gtest.h>

namespace realizar::cli {
namespace {

TEST(Modelfile, HasAllInstructionsInAnyCase) {
  const auto file = parse_modelfile(
      "# a poet\r\n"
      "FROM ./models/tiny.gguf\r\n"
      "parameter temperature 0.5\n"
      "PARAMETER stop \"<end>\"\n"
      "PARAMETER stop two words\n"
      "PARAMETER num_ctx 64\n"
      "SYSTEM \"\"\"You are\n"
      "  a poet.\n"
      "\"\"\"\n"
      "TEMPLATE {{ .Prompt }}\n"
      "LICENSE \"\"\"free\"\"\"\n"
      "MESSAGE user Hello there\n"
      "MESSAGE assistant \"Good day.\"\n");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->from, "./models/tiny.gguf");
  EXPECT_EQ(file->parameters.dump(), R"({"temperature":0.5,"stop":["<end>","two words"],"num_ctx":64})");
  EXPECT_EQ(file->system, "You are\n  a poet.\n");
  EXPECT_EQ(file->chat_template, "{{ .Prompt }}");
  EXPECT_EQ(file->license, "free");
  EXPECT_EQ(file->messages.dump(),
            R"([{"role":"user","content":"Hello there"},{"role":"assistant","content":"Good day."}])");
}

TEST(Modelfile, WithoutATextHasNone) {
  const auto file = parse_modelfile("FROM qwen3:1.7b");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_FALSE(file->system || file->chat_template || file->license);
  EXPECT_TRUE(file->parameters.empty() && file->messages.empty());
}

TEST(Modelfile, SaysWhichLineIsWrong) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"SYSTEM x", "there is no FROM, which names the model"},
      {"", "there is no FROM, which names the model"},
      {"FROM x\n\nTEMPERATURE 1",
       "line 3: expected FROM, PARAMETER, TEMPLATE, SYSTEM, MESSAGE or LICENSE, actual TEMPERATURE"},
      {"FROM x\nSYSTEM \"\"\"a\nb", "line 2: no \"\"\" ends the text that begins here"},
      {"FROM x\nPARAMETER top_k", "line 2: expected PARAMETER NAME VALUE"},
      {"FROM x\nMESSAGE robot hi", "line 2: expected MESSAGE with the role system, user or assistant, and a text"},
      {"FROM x\nADAPTER a.gguf", "line 2: ADAPTER is not built; realizar run --lora FILE has it"}};
  for (const auto& [text, message] : kWrong) {
    const auto file = parse_modelfile(text);
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_EQ(file.error().message, message);
  }
}

}  // namespace
}  // namespace realizar::cli
