// For tests: the forms of calls in models' templates, as found by template_output.h.
#pragma once

#include <string>
#include <utility>

#include "text/output/formats/format.h"
#include "text/output/output_format.h"

namespace realizar::text {

inline OutputFormat output_of(CallForm form, std::optional<TagPair> reasoning = {},
                              std::optional<TagPair> wrapper = {}) {
  return {.calls = std::move(form), .reasoning = std::move(reasoning), .content_wrapper = std::move(wrapper)};
}

inline CallForm hermes_form() {
  return *hermes_format().format.calls;
}

inline CallForm llama3_form() {
  return *llama3_json_format().format.calls;
}

inline CallForm object_list_form(const std::string& first, const std::string& last) {
  return {.first = first + "[",
          .open = "{\"name\": \"",
          .name_end = "\", \"arguments\": ",
          .close = "}",
          .between = ", ",
          .last = "]" + last};
}

inline CallForm mistral_list_form() {
  return object_list_form("[TOOL_CALLS]", "");
}

inline CallForm mistral_form() {
  return {.arguments = CallForm::Arguments::kObjectAfter,
          .open = "[TOOL_CALLS]",
          .name_end = "[ARGS]",
          .id_mark = "[CALL_ID]"};
}

inline CallForm deepseek_r1_form() {
  return {.arguments = CallForm::Arguments::kObjectAfter,
          .first = "<｜tool▁calls▁begin｜>",
          .open = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
          .name_end = "\n```json\n",
          .close = "\n```<｜tool▁call▁end｜>",
          .between = "\n",
          .last = "<｜tool▁calls▁end｜>"};
}

inline CallForm deepseek_form() {
  return {.arguments = CallForm::Arguments::kObjectAfter,
          .first = "<｜tool▁calls▁begin｜>",
          .open = "<｜tool▁call▁begin｜>",
          .name_end = "<｜tool▁sep｜>",
          .close = "<｜tool▁call▁end｜>",
          .last = "<｜tool▁calls▁end｜>"};
}

inline CallForm dsml_form() {
  return {.arguments = CallForm::Arguments::kTagged,
          .first = "<｜DSML｜function_calls>\n",
          .open = "<｜DSML｜invoke name=\"",
          .name_end = "\">\n",
          .close = "</｜DSML｜invoke>",
          .between = "\n",
          .last = "\n</｜DSML｜function_calls>",
          .tags = ArgumentTags{.key_open = "<｜DSML｜parameter name=\"",
                               .key_close = "\" string=\"true\">",
                               .value_close = "</｜DSML｜parameter>\n",
                               .json_key_close = "\" string=\"false\">"}};
}

inline CallForm qwen3_coder_form() {
  return {.arguments = CallForm::Arguments::kTagged,
          .open = "<tool_call>\n<function=",
          .name_end = ">\n",
          .close = "</function>\n</tool_call>",
          .between = "\n",
          .tags = ArgumentTags{.key_open = "<parameter=", .key_close = ">\n", .value_close = "\n</parameter>\n"}};
}

inline CallForm glm_form() {
  return {.arguments = CallForm::Arguments::kTagged,
          .open = "<tool_call>",
          .name_end = "\n",
          .close = "</tool_call>",
          .between = "\n",
          .tags = ArgumentTags{
              .key_open = "<arg_key>", .key_close = "</arg_key>\n<arg_value>", .value_close = "</arg_value>\n"}};
}

inline CallForm cohere_form() {
  return {.first = "<|START_ACTION|>[\n    ",
          .open = "{\"tool_call_id\": \"0\", \"tool_name\": \"",
          .name_end = "\", \"parameters\": ",
          .close = "}",
          .between = ",\n    ",
          .last = "\n]<|END_ACTION|>"};
}

inline CallForm apertus_form() {
  return {.first = "<|tools_prefix|>[",
          .open = "{\"",
          .name_end = "\": ",
          .close = "}",
          .between = ", ",
          .last = "]<|tools_suffix|>"};
}

inline CallForm gemma_form() {
  return {.arguments = CallForm::Arguments::kLiteral,
          .open = "<|tool_call>call:",
          .name_end = "{",
          .close = "}<tool_call|>",
          .tags = ArgumentTags{.key_close = ":", .between = ",", .quote = "<|\"|>"}};
}

inline CallForm olmo_form() {
  return {.arguments = CallForm::Arguments::kLiteral,
          .first = "<function_calls>",
          .name_end = "(",
          .close = ")",
          .between = "\n",
          .last = "</function_calls>",
          .tags = ArgumentTags{.key_close = "=", .between = ", ", .quote = "\""}};
}

inline CallForm lfm2_form() {
  return *lfm2_format().format.calls;
}

}  // namespace realizar::text
