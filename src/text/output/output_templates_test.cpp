// A real chat template's rendering of an assistant's message is what the model was trained to write: parsing it must
// give the message back.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/result_checks.h"
#include "text/chat_template.h"
#include "text/output/parser_rig.h"

namespace realizar::text {
namespace {

struct TemplateCase {
  const char* file;
  const char* header;  // before the assistant's part
  const char* end;     // after it
  bool keeps_reasoning = false;
  bool keeps_content = false;
  bool one_call = false;
};

void PrintTo(const TemplateCase& one, std::ostream* out) {
  *out << one.file;
}

const TemplateCase kCases[] = {
    {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>", true},
    {"GLM-4.6", "<|assistant|>", "<|nothing|>", true, true},
    {"Kimi-K2-Instruct", "<|im_assistant|>assistant<|im_middle|>", "<|im_end|>", false, true},
    {"MiMo-VL", "<|im_start|>assistant\n", "<|im_end|>", false, true},
    {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "<|im_start|>assistant\n", "<|im_end|>", true, true},
    {"Qwen-Qwen2.5-7B-Instruct", "<|im_start|>assistant\n", "<|im_end|>", false, true},
    {"Qwen-Qwen3-0.6B", "<|im_start|>assistant\n", "<|im_end|>", true, true},
    {"Qwen3-Coder", "<|im_start|>assistant\n", "<|im_end|>", false, true},
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "<｜Assistant｜>", "<｜end▁of▁sentence｜>"},
    {"deepseek-ai-DeepSeek-V3.1", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", false, true},
    {"google-gemma-4-31B-it", "<|turn>model\n", "<|tool_response>", true},
    {"meta-llama-Llama-3.1-8B-Instruct", "assistant<|end_header_id|>\n\n", "<|eot_id|>", false, false, true},
    {"meta-llama-Llama-3.2-3B-Instruct", "assistant<|end_header_id|>\n\n", "<|eot_id|>", false, false, true},
    {"mistralai-Mistral-Nemo-Instruct-2407", "[/INST]", "</s>"},
    {"openai-gpt-oss-120b", "<|start|>assistant", "<|nothing|>", true, false, true},
};

const Json kWeatherTools = Json::parse(R"([
  {"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": {"type": "object",
    "properties": {"city": {"type": "string", "description": "c"}, "days": {"type": "integer", "description": "d"},
                   "exact": {"type": "boolean", "description": "e"}, "more": {"type": "object", "description": "m"},
                   "digits": {"type": "string", "description": "s"}}, "required": ["city"]}}},
  {"type": "function", "function": {"name": "now", "description": "Time", "parameters": {"type": "object", "properties": {}}}}
])");

const Json kFirst =
    Json::parse(R"({"city": "Zürich \"Nord\" \\ {x} [y] 東京 🙂\n<b>a, b: 'c'</b>\n\n<tool", "days": -2,
  "exact": true, "more": {"l": [1, 2.5, null, false, {"k": "v"}], "e": {}}, "digits": "007"})");

std::string template_source(const char* file) {
  const std::filesystem::path folder = std::string(RZ_SOURCE_DIR) + "/tests/data/chat_templates/templates";
  std::ifstream in(folder / (std::string(file) + ".jinja"), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Json call_of(const char* name, const Json& arguments) {
  return {{"id", "call00001"}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}

Json message_of(const TemplateCase& one) {
  Json message = {{"role", "assistant"}, {"content", one.keeps_content ? Json("Let me look.") : Json("")}};
  // DeepSeek R1 renders any content as a second answer.
  if (std::string_view(one.file).starts_with("deepseek-ai-DeepSeek-R1")) message["content"] = nullptr;
  if (one.keeps_reasoning)
    message[one.file == std::string_view("openai-gpt-oss-120b") ? "thinking" : "reasoning_content"] = "Hm.\n\nYes.";
  message["tool_calls"] = {call_of("get_weather", kFirst)};
  if (!one.one_call) message["tool_calls"].push_back(call_of("now", Json::object()));
  return message;
}

class OutputOfTemplate : public testing::TestWithParam<TemplateCase> {};

TEST_P(OutputOfTemplate, WhatTheTemplateRendersIsParsedBack) {
  const TemplateCase& one = GetParam();
  const std::string source = template_source(one.file);
  const auto chat_template = must(ChatTemplate::parse(source));
  ParserRig rig{chat_template.output_format(), {}, false};
  for (const Json& tool : kWeatherTools)
    rig.tools.push_back({tool["function"]["name"], tool["function"]["parameters"]});

  const Json variables = {{"messages", {{{"role", "user"}, {"content", "Weather?"}}, message_of(one)}},
                          {"tools", kWeatherTools},
                          {"bos_token", "<s>"},
                          {"eos_token", "</s>"},
                          {"enable_thinking", true},
                          {"add_generation_prompt", false}};
  const auto pieces = must(chat_template.render(variables, 1785067200));
  std::string text;
  for (const PromptPiece& piece : pieces) text += piece.text;

  const size_t begin = text.find(one.header, text.find("Weather?")) + std::string_view(one.header).size();
  const ParsedOutput parsed = rig.parse(std::string_view(text).substr(begin, text.find(one.end, begin) - begin));
  EXPECT_EQ(parsed.reasoning, one.keeps_reasoning ? "Hm.\n\nYes." : "");
  EXPECT_EQ(parsed.content, one.keeps_content ? "Let me look." : "");
  ASSERT_EQ(parsed.calls.size(), one.one_call ? 1 : 2) << text.substr(begin);
  EXPECT_EQ(parsed.calls[0].first, "get_weather");
  EXPECT_EQ(nlohmann::json::parse(parsed.calls[0].second), nlohmann::json(kFirst)) << text.substr(begin);
  if (one.one_call) return;
  EXPECT_EQ(parsed.calls[1].first, "now");
  EXPECT_EQ(Json::parse(parsed.calls[1].second), Json::object());
}

// The end of each real template's generation prompt, with thinking as it is by default and off.
TEST(OutputTemplates, OnlySomePromptsOpenReasoning) {
  std::ifstream in(std::string(RZ_SOURCE_DIR) + "/tests/data/chat_templates/expected.json");
  const Json data = Json::parse(in);
  std::vector<std::string> open;
  for (const auto& [file, cases] : data["expected"].items()) {
    const OutputFormat format =
        ChatTemplate::parse(template_source(file.substr(0, file.rfind(".jinja")).c_str()))->output_format();
    for (const char* name : {"user", "thinking_off"}) {
      if (prompt_opens_reasoning(format, cases[name].value("text", ""))) open.push_back(file + " " + name);
    }
  }
  EXPECT_EQ(open, (std::vector<std::string>{"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja user"}));
}

INSTANTIATE_TEST_SUITE_P(Real, OutputOfTemplate, testing::ValuesIn(kCases), [](const auto& one) {
  std::string name = one.param.file;
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
});

}  // namespace
}  // namespace realizar::text
