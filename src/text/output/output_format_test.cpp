#include "text/output/output_format.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "text/output/sample_forms.h"

namespace realizar::text {
namespace {

OutputFormat tags_in(std::string_view source) {
  OutputFormat format;
  find_tags(format, source);
  return format;
}

TEST(OutputFormat, TagsAreThoseOfTheSource) {
  EXPECT_EQ(tags_in("{{ '[THINK]' }}").reasoning->end, "[/THINK]");
  EXPECT_EQ(tags_in("{{ '<|START_RESPONSE|>' }}").content_wrapper->end, "<|END_RESPONSE|>");
  EXPECT_FALSE(tags_in("{{ '<b>' }}").reasoning);
}

TEST(OutputFormat, ThePromptsEndSaysWhetherReasoningIsOpen) {
  const OutputFormat format = tags_in("<think></think>");
  EXPECT_TRUE(prompt_opens_reasoning(format, "<|im_start|>assistant\n<think>\n"));
  EXPECT_TRUE(prompt_opens_reasoning(format, "<｜Assistant｜><think>"));
  EXPECT_FALSE(prompt_opens_reasoning(format, "<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(prompt_opens_reasoning(format, "<|im_start|>assistant\n"));
  EXPECT_FALSE(prompt_opens_reasoning(format, ""));
  EXPECT_FALSE(prompt_opens_reasoning({}, "<think>"));
  EXPECT_TRUE(prompt_opens_reasoning(gpt_oss_format().format, "<|start|>assistant<|channel|>analysis<|message|>"));
  EXPECT_FALSE(prompt_opens_reasoning(gpt_oss_format().format, "<|start|>assistant"));
}

TEST(OutputFormat, MarkersAreAllThatTheParserMustSee) {
  const auto markers = marker_strings(output_of(hermes_form(), TagPair{"<think>", "</think>"}));
  EXPECT_EQ(markers, (std::vector<std::string>{"<tool_call>", "</tool_call>", "<think>", "</think>"}));
  EXPECT_TRUE(marker_strings({}).empty());
  const auto harmony = marker_strings(gpt_oss_format().format);
  for (const char* marker : {"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"})
    EXPECT_NE(std::find(harmony.begin(), harmony.end(), marker), harmony.end()) << marker;
}

}  // namespace
}  // namespace realizar::text
