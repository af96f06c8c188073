#include "text/output/output_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace realizar::text {
namespace {

OutputFormat format_of_template(const std::string& file) {
  const std::filesystem::path folder = std::string(RZ_SOURCE_DIR) + "/tests/data/chat_templates/templates";
  std::ifstream in(folder / (file + ".jinja"), std::ios::binary);
  EXPECT_TRUE(in.good()) << file;
  return detect_output_format(std::string(std::istreambuf_iterator<char>(in), {}));
}

std::string reasoning_begin(const std::string& file) {
  const OutputFormat format = format_of_template(file);
  return format.reasoning ? format.reasoning->begin : "";
}

// The formats of the templates that render calls are checked where their calls are parsed back.
TEST(OutputFormat, TemplatesThatRenderNoCallsAreToldByTheirToolLists) {
  EXPECT_EQ(format_of_template("LFM2-8B-A1B").tools, ToolFormat::kLfm2);
  EXPECT_EQ(format_of_template("ibm-granite-granite-3.3-2B-Instruct").tools, ToolFormat::kGranite);
  EXPECT_EQ(format_of_template("HuggingFaceTB-SmolLM3-3B").tools, ToolFormat::kNone);
  EXPECT_EQ(format_of_template("google-gemma-2-2b-it").tools, ToolFormat::kNone);
  EXPECT_EQ(format_of_template("microsoft-Phi-3.5-mini-instruct").tools, ToolFormat::kNone);
}

TEST(OutputFormat, ReasoningTagsComeFromTheTemplate) {
  EXPECT_EQ(reasoning_begin("Qwen-Qwen3-0.6B"), "<think>");
  EXPECT_EQ(reasoning_begin("HuggingFaceTB-SmolLM3-3B"), "<think>");
  EXPECT_EQ(reasoning_begin("CohereForAI-c4ai-command-r7b-12-2024-tool_use"), "<|START_THINKING|>");
  EXPECT_EQ(reasoning_begin("google-gemma-4-31B-it"), "<|channel>thought");
  EXPECT_EQ(reasoning_begin("Qwen-Qwen2.5-7B-Instruct"), "");
  EXPECT_EQ(reasoning_begin("Qwen3-Coder"), "");
  EXPECT_EQ(reasoning_begin("openai-gpt-oss-120b"), "");
  EXPECT_EQ(detect_output_format("{{ '[THINK]' }}").reasoning->end, "[/THINK]");
}

TEST(OutputFormat, ThePromptsEndSaysWhetherReasoningIsOpen) {
  const OutputFormat format = detect_output_format("<think></think>");
  EXPECT_TRUE(prompt_opens_reasoning(format, "<|im_start|>assistant\n<think>\n"));
  EXPECT_TRUE(prompt_opens_reasoning(format, "<｜Assistant｜><think>"));
  EXPECT_FALSE(prompt_opens_reasoning(format, "<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(prompt_opens_reasoning(format, "<|im_start|>assistant\n"));
  EXPECT_FALSE(prompt_opens_reasoning(format, ""));
  EXPECT_FALSE(prompt_opens_reasoning({}, "<think>"));
  EXPECT_TRUE(
      prompt_opens_reasoning({ToolFormat::kGptOss, {}, {}}, "<|start|>assistant<|channel|>analysis<|message|>"));
  EXPECT_FALSE(prompt_opens_reasoning({ToolFormat::kGptOss, {}, {}}, "<|start|>assistant"));
}

TEST(OutputFormat, MarkersAreAllThatTheParserMustSee) {
  const auto markers = marker_strings({ToolFormat::kHermes, TagPair{"<think>", "</think>"}, {}});
  EXPECT_EQ(markers, (std::vector<std::string>{"<tool_call>", "</tool_call>", "<think>", "</think>"}));
  EXPECT_TRUE(marker_strings({}).empty());
  const auto harmony = marker_strings({ToolFormat::kGptOss, {}, {}});
  for (const char* marker : {"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"})
    EXPECT_NE(std::find(harmony.begin(), harmony.end(), marker), harmony.end()) << marker;
}

}  // namespace
}  // namespace realizar::text
