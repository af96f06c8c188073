#include "text/template_output.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result_checks.h"
#include "text/chat_template.h"
#include "text/output/output_format.h"
#include "text/output/parser_rig.h"
#include "text/output/sample_forms.h"

namespace realizar::text {
namespace {

using Json = nlohmann::ordered_json;

OutputFormat format_of(const std::string& source) {
  return must(ChatTemplate::parse(source)).output_format();
}

OutputFormat format_of_file(const std::string& name) {
  const std::filesystem::path folder = std::string(RZ_SOURCE_DIR) + "/tests/data/chat_templates/templates";
  std::ifstream in(folder / (name + ".jinja"), std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  return format_of(std::string(std::istreambuf_iterator<char>(in), {}));
}

TEST(TemplateOutput, TheFormIsWhatTheTemplatePrints) {
  const std::pair<const char*, CallForm> cases[] = {
      {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", cohere_form()},
      {"GLM-4.6", glm_form()},
      {"MiMo-VL", hermes_form()},
      {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", qwen3_coder_form()},
      {"Qwen-Qwen2.5-7B-Instruct", hermes_form()},
      {"Qwen-Qwen3-0.6B", hermes_form()},
      {"Qwen3-Coder", qwen3_coder_form()},
      {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", deepseek_r1_form()},
      {"deepseek-ai-DeepSeek-V3.1", deepseek_form()},
      {"google-gemma-4-31B-it", gemma_form()},
      {"meta-llama-Llama-3.1-8B-Instruct", llama3_form()},
      {"meta-llama-Llama-3.2-3B-Instruct", llama3_form()},
      {"mistralai-Mistral-Nemo-Instruct-2407", mistral_list_form()},
  };
  const Json some = {{"s", "x"}, {"n", 5}}, none = Json::object();
  const std::vector<WrittenCall> calls = {{"f", some}, {"g", none}};
  for (const auto& [name, form] : cases) {
    const OutputFormat format = format_of_file(name);
    EXPECT_EQ(written_calls(format, calls), written_calls(output_of(form), calls)) << name;
    EXPECT_EQ(format.calls, form) << name;
  }
}

TEST(TemplateOutput, FormsThatTemplatesDoNotPrintAreKnown) {
  EXPECT_EQ(format_of_file("Kimi-K2-Instruct").calls, kimi_format().format.calls);
  EXPECT_EQ(format_of_file("LFM2-8B-A1B").calls, lfm2_form());
  EXPECT_EQ(format_of_file("ibm-granite-granite-3.3-2B-Instruct").calls, granite_format().format.calls);
  EXPECT_TRUE(format_of_file("openai-gpt-oss-120b").channels);
  for (const char* name : {"HuggingFaceTB-SmolLM3-3B", "google-gemma-2-2b-it", "microsoft-Phi-3.5-mini-instruct"}) {
    EXPECT_TRUE(format_of_file(name).is_general) << name;
  }
}

TEST(TemplateOutput, ThoughtsMarksAreThoseOfTheSource) {
  const auto begin = [](const char* name) {
    const OutputFormat format = format_of_file(name);
    return format.reasoning ? format.reasoning->begin : "";
  };
  EXPECT_EQ(begin("Qwen-Qwen3-0.6B"), "<think>");
  EXPECT_EQ(begin("HuggingFaceTB-SmolLM3-3B"), "<think>");
  EXPECT_EQ(begin("CohereForAI-c4ai-command-r7b-12-2024-tool_use"), "<|START_THINKING|>");
  EXPECT_EQ(begin("google-gemma-4-31B-it"), "<|channel>thought");
  EXPECT_EQ(begin("Qwen-Qwen2.5-7B-Instruct"), "");
  EXPECT_EQ(begin("openai-gpt-oss-120b"), "");
}

// A template whose turns end with <end>, in which `calls` prints the member tool_calls of `m`.
std::string template_with(const std::string& calls) {
  return "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content }}"
         "{% if m.tool_calls %}" +
         calls + "{% endif %}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
}

std::string for_each(const std::string& call, const std::string& between = "") {
  const std::string separator = between.empty() ? "" : "{% if not loop.last %}" + between + "{% endif %}";
  return "{% for c in m.tool_calls %}" + call + separator + "{% endfor %}";
}

std::string for_each_argument(const std::string& argument) {
  return "{% for k, v in c.function.arguments.items() %}" + argument + "{% endfor %}";
}

// The second call has a number, a text and an object; each form writes it like its template.
TEST(TemplateOutput, FormsOfAnyMarksAreFoundAndReadBack) {
  const std::string json = "{{ c.function.arguments | tojson }}";
  const std::string name = "{{ c.function.name }}";
  const std::pair<const char*, std::string> cases[] = {
      {"one object", for_each("[CALL]{\"function\": \"" + name + "\", \"parameters\": " + json + "}[/CALL]")},
      {"a list",
       "<calls>[" +
           for_each("{\"name\": \"" + name + "\", \"arguments\": " + json + ", \"id\": \"{{ c.id }}\"}", ", ") +
           "]</calls>"},
      {"name as key", "<calls>[" + for_each("{\"" + name + "\": " + json + "}", ", ") + "]</calls>"},
      {"nested", for_each("<call>{\"type\": \"function\", \"function\": {\"name\": \"" + name +
                          "\", \"arguments\": " + json + "}}</call>")},
      {"bare list", "[" + for_each("{\"name\": \"" + name + "\", \"arguments\": " + json + "}", ", ") + "]"},
      {"object after", for_each("<fn=" + name + ">" + json + "</fn>")},
      {"object after an id", for_each("[FN]" + name + "[ID]{{ c.id }}[ARGS]" + json)},
      {"tags", for_each("<inv name=\"" + name + "\">\n" +
                        for_each_argument("<par name=\"{{ k }}\">{{ v if v is string else v | tojson }}</par>\n") +
                        "</inv>\n")},
      {"tags that tell strings",
       "<all>" +
           for_each("<inv n=\"" + name + "\">" +
                    for_each_argument("<par n=\"{{ k }}\" s=\"{{ 'yes' if v is string else 'no' }}\">"
                                      "{{ v if v is string else v | tojson }}</par>") +
                    "</inv>") +
           "</all>"},
      {"code", "<code>" +
                   for_each(name + "(" +
                                "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }}"
                                "{% if not loop.last %}, {% endif %}{% endfor %})",
                            "\n") +
                   "</code>"},
      {"code in a list", "[" +
                             for_each(name + "(" +
                                          "{% for k, v in c.function.arguments.items() %}{{ k }}="
                                          "{{ v | tojson }}{% if not loop.last %}, {% endif %}{% endfor %})",
                                      ", ") +
                             "]"},
  };
  const std::vector<ToolSpec> tools = {
      {"first", Json::parse(R"({"properties": {"a": {"type": "string"}}})")},
      {"second", Json::parse(R"({"properties": {"n": {"type": "integer"}, "s": {"type": "string"},
                                                "o": {"type": "object"}}})")}};
  const Json one = {{"a", "x y"}}, two = {{"n", 5}, {"s", "it's \"so\""}, {"o", {{"k", Json::array({1, nullptr})}}}};
  for (const auto& [what, calls] : cases) {
    const OutputFormat format = format_of(template_with(calls));
    EXPECT_FALSE(format.is_general) << what;
    const std::vector<WrittenCall> both = {{"first", one}, {"second", two}};
    const std::string text = "Look:\n" + written_calls(format, both) + "\nSo.";
    const ParsedOutput output = ParserRig{format, tools, false}.parse(text);
    EXPECT_EQ(output.content, "Look:So.") << what << ": " << text;
    ASSERT_EQ(output.calls.size(), 2u) << what << ": " << text;
    EXPECT_EQ(output.calls[0].first, "first") << what;
    EXPECT_EQ(Json::parse(output.calls[0].second), one) << what;
    EXPECT_EQ(output.calls[1].first, "second") << what;
    EXPECT_EQ(Json::parse(output.calls[1].second), two) << what << ": " << text;
  }
}

TEST(TemplateOutput, ATemplateThatPrintsNoCallsHasTheGeneralForm) {
  EXPECT_TRUE(format_of(template_with("")).is_general);
  EXPECT_TRUE(format_of("{{ messages[-1].content }}").is_general);
  EXPECT_TRUE(format_of(template_with("{{ m.tool_calls[0].function.name }}")).is_general);
}

}  // namespace
}  // namespace realizar::text
