#include "text/output/output_parser.h"

#include <gtest/gtest.h>

#include "text/output/output_format.h"
#include "text/output/parser_rig.h"
#include "text/output/sample_forms.h"

namespace realizar::text {
namespace {

const std::vector<ToolSpec> kTools = {
    {"f", Json::parse(R"({"type": "object", "properties": {"s": {"type": "string"}, "n": {"type": "integer"},
                          "o": {"type": "object"}}})")},
    {"g", Json::object()},
};

const TagPair kThink{"<think>", "</think>"};

struct Case {
  const char* text;
  ParsedOutput expected;
};

void expect_all(const OutputFormat& format, const std::vector<Case>& cases) {
  const ParserRig rig{format, kTools, false};
  for (const auto& [text, expected] : cases) EXPECT_EQ(rig.parse(text), expected) << text;
}

OutputFormat with_reasoning(CallForm form) {
  return output_of(std::move(form), kThink);
}

TEST(OutputParser, Hermes) {
  const std::string nested = R"({"o": {"a}\"": ["{", "\\", {"k": "]</tool_call>"}]}, "s": "é🙂\u00e9"})";
  const std::string call_with_nested = "<tool_call>{\"name\": \"f\", \"arguments\": " + nested + "}</tool_call>";
  expect_all(
      output_of(hermes_form()),
      {
          {"Just text.\n", {"", "Just text.\n", {}}},
          {"Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": 1}}\n</tool_call>",
           {"", "Let me see.", {{"f", "{\"n\": 1}"}}}},
          {"<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", "
           "\"arguments\": {\"x\": [1]}}\n</tool_call>\nDone.\n",
           {"", "Done.\n", {{"f", "{}"}, {"g", "{\"x\": [1]}"}}}},
          {call_with_nested.c_str(), {"", "", {{"f", nested}}}},
          // Members in another order, additional ones, arguments as a string, as null, or missing.
          {"<tool_call>{\"id\": [1], \"arguments\": {\"n\": 1}, \"name\": \"f\", \"x\": {}}</tool_call>",
           {"", "", {{"f", "{\"n\": 1}"}}}},
          {R"(<tool_call>{"name": "f", "arguments": "{\"n\": 1}"}</tool_call>)", {"", "", {{"f", "{\"n\": 1}"}}}},
          {R"(<tool_call>{"name": "f", "arguments": null}</tool_call>)", {"", "", {{"f", "{}"}}}},
          {R"(<tool_call>{"name": "f"}</tool_call>)", {"", "", {{"f", "{}"}}}},
          // An unknown tool.
          {"a\n<tool_call>\n{\"name\": \"no.body\", \"arguments\": {\"a\": 1}}\n</tool_call>\nb",
           {"", "ab", {{"no.body", "{\"a\": 1}"}}}},
          // The end tag is missing.
          {"<tool_call>{\"name\": \"g\", \"arguments\": {}}\nAnd so on", {"", "And so on", {{"g", "{}"}}}},
      });
}

TEST(OutputParser, HermesWhatIsNoCallIsContentByteForByte) {
  for (const char* text : {
           "<tool kit> and <tool_",
           "a <tool_call",
           "x < y\n\n  <tool_cal> z ",
           "a\n<tool_call>\n{\"name\": \"no body\", \"arguments\": {\"a\": 1}}\n</tool_call>\nb",
           "<tool_call>{\"name\": \"\", \"arguments\": {}}</tool_call>",
           "<tool_call>{\"name\": \"a2345678901234567890123456789012345678901234567890123456789012345\"}</tool_call>",
           "<tool_call>\nf(1)\n</tool_call>",
           "<tool_call>\n{\"arguments\": {\"n\": 1}}\n</tool_call>",
           "<tool_call>{\"name\": 5, \"arguments\": {}}</tool_call>",
           "<tool_call>{\"name\": \"f\", \"arguments\": 5}",
           "<tool_call>{\"name\": \"f\" \"arguments\": {}}",
           "a <tool_call>\n{\"name\": \"f\", \"arg",
           "a \n<tool_call>",
           "<tool_call>\n{\"arguments\": {\"n\": 1",
           "<tool_call>{name: \"f\"}",
           "<tool_call>{}</tool_call>",
       })
    expect_all(output_of(hermes_form()), {{text, {"", text, {}}}});
  expect_all(output_of(hermes_form()),
             {{"<tool_call><tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>", {"", "", {{"g", "{}"}}}}});
}

// At the end of the text, nothing is added to it.
TEST(OutputParser, ABegunCallThatCannotGoOnIsClosed) {
  expect_all(
      output_of(hermes_form()),
      {
          {"<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"cut of", {"", "", {{"f", "{\"s\": \"cut of"}}}},
          {"<tool_call>{\"name\": \"f\", \"arguments\": {\"o\": {\"a\": [1, ", {"", "", {{"f", "{\"o\": {\"a\": [1"}}}},
          {"<tool_call>{\"name\": \"f\", \"arguments\": {\"n\": 1}", {"", "", {{"f", "{\"n\": 1}"}}}},
          {"<tool_call>{\"name\": \"f\", \"arguments\": {\"n\": oops}}</tool_call> more",
           {"", "oops}} more", {{"f", "{\"n\": null}"}}}},
          {"<tool_call>{\"name\": \"f\", \"arguments\": {\"n\": 1}]\n<tool_call>{\"name\": \"g\"}</tool_call>",
           {"", "]", {{"f", "{\"n\": 1}"}, {"g", "{}"}}}},
          {"<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"a\nb\"}}</tool_call>",
           {"", "", {{"f", "{\"s\": \"a\\nb\"}"}}}},
      });
}

TEST(OutputParser, Llama3) {
  expect_all(
      output_of(llama3_form()),
      {
          {R"({"name": "f", "parameters": {"n": 1}})", {"", "", {{"f", "{\"n\": 1}"}}}},
          {R"(<|python_tag|>{"type": "function", "name": "f", "parameters": {"n": 1}})",
           {"", "", {{"f", "{\"n\": 1}"}}}},
          {"{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", \"parameters\": {}}\n{\"name\": \"g\"}",
           {"", "", {{"f", "{}"}, {"g", "{}"}, {"g", "{}"}}}},
          {R"(<|python_tag|>f.call(s="it's \"so\"", n=2))", {"", "", {{"f", R"({"s": "it's \"so\"", "n": 2})"}}}},
          {"\n{\"answer\": {\"name\": \"f\"}}", {"", "\n{\"answer\": {\"name\": \"f\"}}", {}}},
          {R"({"name": "Alice", "age": 3})", {"", R"({"name": "Alice", "age": 3})", {}}},
          // An unknown tool, where the whole text has a call's form.
          {R"({"name": "nobody", "parameters": {"n": 1}})", {"", "", {{"nobody", "{\"n\": 1}"}}}},
          {R"({"parameters": "{}", "name": "nobody"}; {"name": "f"})", {"", "", {{"nobody", "{}"}, {"f", "{}"}}}},
          {"<|python_tag|>nobody.call(n=2)", {"", "", {{"nobody", R"({"n": 2})"}}}},
          {R"({"name": "nobody"})", {"", R"({"name": "nobody"})", {}}},
          {R"({"name": "nobody", "parameters": {}, "age": 3})",
           {"", R"({"name": "nobody", "parameters": {}, "age": 3})", {}}},
          {R"({"name": "nobody", "parameters": {"n": 1)", {"", R"({"name": "nobody", "parameters": {"n": 1)", {}}},
          {R"(Say {"name": "f", "parameters": {}})", {"", R"(Say {"name": "f", "parameters": {}})", {}}},
          {"<|python_tag|>print(1)", {"", "<|python_tag|>print(1)", {}}},
          {R"({"name": "f", "parameters": {"s": ")", {"", "", {{"f", R"({"s": ")"}}}},
      });
}

TEST(OutputParser, Mistral) {
  expect_all(
      output_of(mistral_form()),
      {
          {R"(Sure.[TOOL_CALLS][{"name": "f", "arguments": {"n": 1}, "id": "abcdefghi"}, {"name": "g", "arguments": {}}])",
           {"", "Sure.", {{"f", "{\"n\": 1}"}, {"g", "{}"}}}},
          {R"([TOOL_CALLS]f[ARGS]{"n": 1}[TOOL_CALLS]g[CALL_ID]123456789[ARGS]{})",
           {"", "", {{"f", "{\"n\": 1}"}, {"g", "{}"}}}},
          {"[TOOL_CALLS]nobody[ARGS]{}", {"", "", {{"nobody", "{}"}}}},
          {"[TOOL_CALLS]no body[ARGS]{}", {"", "[TOOL_CALLS]no body[ARGS]{}", {}}},
          {"[TOOL_CALLS] [1, 2]", {"", "[TOOL_CALLS] [1, 2]", {}}},
          {R"([TOOL_CALLS] [{"name": "g", "arguments": {}}][/TOOL_CALLS])", {"", "", {{"g", "{}"}}}},
          {"a[0] [TOOL] [TOOL_CALL", {"", "a[0] [TOOL] [TOOL_CALL", {}}},
          {R"([TOOL_CALLS][{"name": "f", "arguments": {}}, {"name": "nobody", "arguments": {}}])",
           {"", "", {{"f", "{}"}, {"nobody", "{}"}}}},
          {R"([TOOL_CALLS]f[ARGS]{"s": "x)", {"", "", {{"f", R"({"s": "x)"}}}},
      });
}

TEST(OutputParser, DeepSeek) {
  expect_all(
      with_reasoning(deepseek_r1_form()),
      {
          {"Ok<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"n\": "
           "1}\n```<｜tool▁call▁end｜>\n"
           "<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
           {"", "Ok", {{"f", "{\"n\": 1}"}, {"g", "{}"}}}},
          {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"s\": \"x",
           {"", "", {{"f", "{\"s\": \"x"}}}},
          {"<｜tool｜> <｜tool▁calls▁begi", {"", "<｜tool｜> <｜tool▁calls▁begi", {}}},
      });
}

TEST(OutputParser, DeepSeekWithoutTypes) {
  expect_all(with_reasoning(deepseek_form()),
             {
                 {"<think>\nR\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"s\": \"```\"}"
                  "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                  {"R", "", {{"f", "{\"s\": \"```\"}"}}}},
                 {"<｜tool▁call▁begin｜>g<｜tool▁sep｜><｜tool▁call▁end｜>", {"", "", {{"g", "{}"}}}},
                 {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>nobody<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
                  {"", "", {{"nobody", "{}"}}}},
             });
}

TEST(OutputParser, Kimi) {
  expect_all(
      output_of(*kimi_format().format.calls),
      {
          {"Hi <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"n\": 1}"
           "<|tool_call_end|><|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
           "<|tool_calls_section_end|>",
           {"", "Hi", {{"f", "{\"n\": 1}"}, {"g", "{}"}}}},
          {"<|tool_call_begin|>g<|tool_call_argument_begin|><|tool_call_end|>", {"", "", {{"g", "{}"}}}},
          {"<|tool_calls_section_begin|><|tool_calls_section_end|>x", {"", "x", {}}},
          {"<|tool_call_begin|>functions.nobody:0<|tool_call_argument_begin|>{}", {"", "", {{"nobody", "{}"}}}},
          {"<|tool_call_begin|>f", {"", "<|tool_call_begin|>f", {}}},
      });
}

TEST(OutputParser, Qwen3Coder) {
  expect_all(
      output_of(qwen3_coder_form()),
      {
          {"Ok.\n\n<tool_call>\n<function=f>\n<parameter=s>\n5\n</parameter>\n<parameter=n>\n5\n</parameter>\n"
           "<parameter=o>\n{\"a\": [1]}\n</parameter>\n</function>\n</tool_call>",
           {"", "Ok.", {{"f", R"({"s": "5", "n": 5, "o": {"a": [1]}})"}}}},
          {"<tool_call>\n<function=f>\n<parameter=s>\n\n <a "
           "href=\"x\">\n</param>\n\n</parameter>\n</function>\n</tool_call>\n"
           "<tool_call>\n<function=g>\n</function>\n</tool_call>\n",
           {"", "", {{"f", R"({"s": "\n <a href=\"x\">\n</param>\n"})"}, {"g", "{}"}}}},
          {"<function=f>\n<parameter=o>\n{'a': [True, None, 'x']}\n</parameter>\n</function>",
           {"", "", {{"f", R"({"o": {"a": [true, null, "x"]}})"}}}},
          {"<function=g><parameter=x>free</parameter></function>", {"", "", {{"g", R"({"x": "free"})"}}}},
          {"<tool_call>\n<function=nobody>\n<parameter=k>\n1\n</parameter>\n</function>\n</tool_call>",
           {"", "", {{"nobody", R"({"k": 1})"}}}},
          {"<tool_call>\n<function=no body>\n</function>\n</tool_call>",
           {"", "<tool_call>\n<function=no body>\n</function>\n</tool_call>", {}}},
          {"<tool_call>{\"name\"", {"", "<tool_call>{\"name\"", {}}},
          // Cut off in a string, before its end tag is complete, in another type, and broken between arguments.
          {"<function=f>\n<parameter=s>\nhal", {"", "", {{"f", R"({"s": "hal)"}}}},
          {"<function=f>\n<parameter=s>\nhalf\n</para", {"", "", {{"f", R"({"s": "half)"}}}},
          {"<function=f>\n<parameter=s>\na\n</parameter>\n<parameter=n>\n1", {"", "", {{"f", R"({"s": "a")"}}}},
          {"<function=f>\n<parameter=n>\n1\n</parameter>\nand </function>", {"", "and ", {{"f", R"({"n": 1})"}}}},
      });
}

TEST(OutputParser, Glm) {
  expect_all(with_reasoning(glm_form()),
             {
                 {"\n<think>R</think>\nOk\n<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>\n5 <b></arg_value>\n"
                  "<arg_key>n</arg_key>\n<arg_value>5</arg_value>\n</tool_call>\n<tool_call>g\n</tool_call>",
                  {"R", "Ok", {{"f", R"({"s": "\n5 <b>", "n": 5})"}, {"g", "{}"}}}},
                 {"<tool_call>g<arg_key>k</arg_key><arg_value>true</arg_value></tool_call>",
                  {"", "", {{"g", R"({"k": true})"}}}},
                 {"<tool_call>f\n{\"s\": \"a\", \"n\": 1}\n</tool_call>B", {"", "B", {{"f", R"({"s": "a", "n": 1})"}}}},
                 {"<tool_call>nobody\n</tool_call>", {"", "", {{"nobody", "{}"}}}},
                 {"<tool_call>f(1)\n</tool_call>", {"", "<tool_call>f(1)\n</tool_call>", {}}},
                 {"<tool_call>f\n<arg_key>s</arg_key>\n", {"", "", {{"f", "{"}}}},
                 {"<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>a</arg_val", {"", "", {{"f", R"({"s": "a)"}}}},
             });
}

TEST(OutputParser, Cohere) {
  const OutputFormat format = output_of(cohere_form(), TagPair{"<|START_THINKING|>", "<|END_THINKING|>"},
                                        TagPair{"<|START_RESPONSE|>", "<|END_RESPONSE|>"});
  expect_all(
      format,
      {
          {"<|START_THINKING|>R<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", "
           "\"parameters\": {\"n\": 1}},\n    {\"tool_call_id\": \"1\", \"tool_name\": \"g\", \"parameters\": {}}\n]"
           "<|END_ACTION|>",
           {"R", "", {{"f", "{\"n\": 1}"}, {"g", "{}"}}}},
          {"<|START_RESPONSE|>The answer.<|END_RESPONSE|>", {"", "The answer.", {}}},
          {"The <|START_RESPONSE|>", {"", "The", {}}},
      });
}

TEST(OutputParser, Granite) {
  const OutputFormat format = output_of(*granite_format().format.calls, kThink, TagPair{"<response>", "</response>"});
  expect_all(format, {
                         {"<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"n\": 1}}, {\"name\": \"g\"}]",
                          {"", "", {{"f", "{\"n\": 1}"}, {"g", "{}"}}}},
                         {"<think>R</think><response>A <response> here</response>", {"R", "A <response> here", {}}},
                         {"An XML <response>1</response>", {"", "An XML <response>1</response>", {}}},
                     });
}

TEST(OutputParser, Gemma) {
  const OutputFormat format = output_of(gemma_form(), TagPair{"<|channel>thought", "<channel|>"}, {});
  expect_all(
      format,
      {
          {"<|channel>thought\nR\n<channel|><|tool_call>call:f{s:<|\"|>a \"b\" \\ "
           "}<|\"|>,n:2,o:{k:[1,true,None,<|\"|>x<|\"|>]}}"
           "<tool_call|><|tool_call>call:g{}<tool_call|>",
           {"R", "", {{"f", R"({"s": "a \"b\" \\ }", "n": 2, "o": {"k": [1, true, null, "x"]}})"}, {"g", "{}"}}}},
          {"<|tool_call>call:nobody{}<tool_call|>", {"", "", {{"nobody", "{}"}}}},
          {"<|tool_call>call:f{s:<|\"|>cut<|", {"", "", {{"f", R"({"s": "cut)"}}}},
          {"<|tool_call>call:f{o:{a:[1,{b:2", {"", "", {{"f", R"({"o": {"a": [1, {"b": )"}}}},
          {"<|channel>first<channel|><|channel>second<channel|>A<|channel>thought\nR<channel|>B<channel|>",
           {"firstsecondR", "AB", {}}},
          {"<|channel><|channel>thought\n<channel|>A", {"", "A", {}}},
          {"<|tool_call>call:g{}<tool_call|><tool_call|>A", {"", "A", {{"g", "{}"}}}},
          {"<|tool_call>call:f{n=2}", {"", "=2}", {{"f", R"({"n": null})"}}}},
      });
}

TEST(OutputParser, Lfm2) {
  expect_all(
      output_of(lfm2_form()),
      {
          {R"(<|tool_call_start|>[f(s='it\'s "x"', n=-2, o={'a': [1, None, True], "b": {}}), g()]<|tool_call_end|>Let me see.)",
           {"",
            "Let me see.",
            {{"f", R"({"s": "it's \"x\"", "n": -2, "o": {"a": [1, null, true], "b": {}}})"}, {"g", "{}"}}}},
          {R"(<|tool_call_start|>[{"name": "g", "arguments": {}}]<|tool_call_end|>)", {"", "", {{"g", "{}"}}}},
          {"<|tool_call_start|>[nobody()]<|tool_call_end|>", {"", "", {{"nobody", "{}"}}}},
          {"<|tool_call_start|>[f(s=\"cut \\", {"", "", {{"f", R"({"s": "cut )"}}}},
          // Without the marks, only for known tools.
          {"Let me see.[f(n=1), g()]", {"", "Let me see.", {{"f", R"({"n": 1})"}, {"g", "{}"}}}},
          {"[nobody()] and a[0] and [see f(x)]", {"", "[nobody()] and a[0] and [see f(x)]", {}}},
      });
}

TEST(OutputParser, GptOss) {
  expect_all(
      gpt_oss_format().format,
      {
          {"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello!\n<|return|>",
           {"Hm.", "Hello!\n", {}}},
          {"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.f "
           "<|constrain|>json<|message|>{\"n\": 1}<|call|>",
           {"Hm.", "", {{"f", "{\"n\": 1}"}}}},
          {" to=functions.f<|channel|>commentary json<|message|>{\"s\": \"<|end|>\"}<|call|>",
           {"", "", {{"f", "{\"s\": \"<|end|>\"}"}}}},
          {"<|channel|>commentary<|message|>First I look.<|end|><|start|>assistant to=functions.f<|channel|>commentary"
           "<|message|>{}<|call|><|start|>assistant to=functions.g<|channel|>commentary<|message|>{}<|call|>",
           {"", "First I look.", {{"f", "{}"}, {"g", "{}"}}}},
          {"<|channel|>commentary to=functions.nobody<|message|>{}<|call|>", {"", "", {{"nobody", "{}"}}}},
          // The recipient is not a tool.
          {"<|channel|>commentary to=python<|message|>f(1) < 2<|call|>", {"", "", {}}},
          {"<|channel|>commentary to=assistant<|channel|>final<|message|>Hello<|return|>", {"", "Hello", {}}},
          {"<|channel|>analysis to=python<|message|>{}<|end|>", {"{}", "", {}}},
          {"<|channel|>analysis<|message|>cut off", {"cut off", "", {}}},
          {"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>fin", {"Hm.", "", {}}},
          {"<|channel|>commentary to=functions.f<|message|>{\"s\": \"x", {"", "", {{"f", "{\"s\": \"x"}}}},
          {"Plain text, to=you < 5", {"", "Plain text, to=you < 5", {}}},
      });
}

TEST(OutputParser, Reasoning) {
  expect_all(with_reasoning(hermes_form()),
             {
                 {"<think>\nA <b> \n\nB.\n</think>\n\nAnswer.", {"A <b> \n\nB.", "Answer.", {}}},
                 {"<think>\n\n</think>\n\nAnswer.", {"", "Answer.", {}}},
                 {"<think></think>", {"", "", {}}},
                 {"<think>\nR\n</think>\n\nC\n<tool_call>\n{\"name\": \"g\"}\n</tool_call>", {"R", "C", {{"g", "{}"}}}},
                 // A complete call of a known tool, in thoughts that never end.
                 {"<think>I could <tool_call>{\"name\": \"g\"}</tool_call> now", {"I could\nnow", "", {{"g", "{}"}}}},
                 {"<think>I could <tool_call>{\"name\": \"g\"}</tool_call> now</think>A",
                  {"I could <tool_call>{\"name\": \"g\"}</tool_call> now", "A", {}}},
                 {"<think>I could <tool_call>{\"name\": \"no\"}</tool_call> now",
                  {"I could <tool_call>{\"name\": \"no\"}</tool_call> now", "", {}}},
                 {"<think>R <tool_call>{\"name\": \"f\", \"arguments\": {",
                  {"R <tool_call>{\"name\": \"f\", \"arguments\": {", "", {}}},
                 // More thoughts, and unmatched marks.
                 {"<think>R</think>A\n<think>S</think>B</think>C", {"RS", "ABC", {}}},
                 {"<think>R</think>A\n  <think>S</think>B", {"RS", "AB", {}}},
                 {"<think>cut off </thi", {"cut off </thi", "", {}}},
                 {"The tag <think> opens, </think> closes.", {"", "The tag <think> opens, </think> closes.", {}}},
                 {"\n No reasoning", {"", "\n No reasoning", {}}},
                 {"<thin", {"", "<thin", {}}},
             });
  const ParserRig inside{with_reasoning(hermes_form()), kTools, true};
  EXPECT_EQ(inside.parse("\nR.\n</think>\nA"), (ParsedOutput{"R.", "A", {}}));
  EXPECT_EQ(inside.parse("R. "), (ParsedOutput{"R.", "", {}}));
  EXPECT_EQ(inside.parse("</think>A"), (ParsedOutput{"", "A", {}}));
  EXPECT_EQ(inside.parse("<think>\nR</think>A"), (ParsedOutput{"R", "A", {}}));
}

TEST(OutputParser, Dsml) {
  expect_all(with_reasoning(dsml_form()),
             {
                 {"Ok.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"s\" "
                  "string=\"true\">5</｜DSML｜parameter>\n<｜DSML｜parameter name=\"n\" string=\"false\">5"
                  "</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"g\">\n</｜DSML｜invoke>\n"
                  "</｜DSML｜function_calls>",
                  {"", "Ok.", {{"f", R"({"s": "5", "n": 5})"}, {"g", "{}"}}}},
             });
}

TEST(OutputParser, NamesThatAreKeysAndCodeInMarks) {
  expect_all(output_of(apertus_form()), {{R"(A<|tools_prefix|>[{"f": {"n": 1}}, {"g": {}}]<|tools_suffix|>B)",
                                          {"", "AB", {{"f", R"({"n": 1})"}, {"g", "{}"}}}}});
  expect_all(output_of(olmo_form()), {{"<function_calls>f(n=1, o={\"a\": null})\ng()</function_calls>",
                                       {"", "", {{"f", R"({"n": 1, "o": {"a": null}})"}, {"g", "{}"}}}}});
}

TEST(OutputParser, PlainWordsBeforeCalls) {
  expect_all(phi4_format().format,
             {{"A\nfunctools[{\"name\": \"g\", \"arguments\": {}}]", {"", "A", {{"g", "{}"}}}},
              {"import functools\nfunctools.reduce(f)", {"", "import functools\nfunctools.reduce(f)", {}}}});
}

TEST(OutputParser, NamesBeforeObjects) {
  expect_all(functionary_format().format, {{"f\n{\"n\": 1}>>>g\n{}", {"", "", {{"f", R"({"n": 1})"}, {"g", "{}"}}}},
                                           {"all\nHello\nfor all", {"", "Hello\nfor all", {}}},
                                           {"all\nHello>>>g\n{}", {"", "Hello", {{"g", "{}"}}}}});
  expect_all(glm4_format().format, {{"\nf\n{\"n\": 1}", {"", "", {{"f", R"({"n": 1})"}}}},
                                    {"f\nis a function", {"", "f\nis a function", {}}}});
}

ParsedOutput parsed_cut(const OutputFormat& format, std::string_view text) {
  OutputParser parser(format, kTools, false);
  std::vector<OutputEvent> events;
  append_events(events, parser.push(text));
  append_events(events, parser.finish(/*is_cut=*/true));
  return ParserRig::gathered(events);
}

TEST(OutputParser, TurnMarksStandWithinTextAlone) {
  OutputFormat format = output_of(hermes_form(), kThink);
  format.turn_marks = {"<|turn|>", "<|end|>"};
  format.stray_marks = {"<|result|>"};
  expect_all(format, {
                         {"<|turn|>Hello.\n<|end|>", {"", "Hello.\n", {}}},
                         {"In ChatML:\n<|turn|>user\nHi <|end|>\nand so on",
                          {"", "In ChatML:\n<|turn|>user\nHi <|end|>\nand so on", {}}},
                         {"A<|end|>\n<tool_call>{\"name\": \"g\"}</tool_call><|end|>", {"", "A", {{"g", "{}"}}}},
                         {"A<|result|>B `<|result|>`", {"", "AB `<|result|>`", {}}},
                     });
}

TEST(OutputParser, ACutCallLeavesNoMarkAndInventsNothing) {
  const std::vector<CallForm> forms = {hermes_form(),  qwen3_coder_form(), dsml_form(),        glm_form(),
                                       mistral_form(), cohere_form(),      deepseek_r1_form(), apertus_form(),
                                       gemma_form(),   olmo_form(),        lfm2_form()};
  const Json arguments = {{"s", "a b"}, {"n", 12}}, none = Json::object();
  const std::vector<WrittenCall> calls = {{"f", arguments}, {"g", none}};
  for (const CallForm& form : forms) {
    const OutputFormat format = output_of(form);
    const std::string text = "Ok.\n" + written_calls(format, calls);
    for (size_t n = 4; n < text.size(); ++n) {
      if ((static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) continue;
      const ParsedOutput output = parsed_cut(format, std::string_view(text).substr(0, n));
      EXPECT_LE(output.content.size(), 5u) << text.substr(0, n) << " -> " << output.content;
      for (const auto& [name, json] : output.calls) {
        const Json value = Json::parse(json, nullptr, false);
        EXPECT_TRUE(value.is_discarded() || value == arguments || value == none) << text.substr(0, n) << " -> " << json;
      }
    }
  }
}

TEST(OutputParser, ACutCallWithoutMarksIsDroppedOnceItIsLikeOne) {
  const auto content_of = [](const OutputFormat& format, std::string_view text) {
    return parsed_cut(format, text).content;
  };
  const OutputFormat object = output_of(llama3_form());
  for (const char* begun : {"{\"n", "{\"name\": \"", "{\"name\":\"f", "{\"name\": \"f\", \"para"}) {
    EXPECT_EQ(content_of(object, std::string("Ok.\n") + begun), "Ok.\n") << begun;
  }
  const std::string call = R"({"name": "f", "parameters": {}})";
  for (const char* next : {";", "; {\"n", "; {\"name\": \"f"}) EXPECT_EQ(content_of(object, call + next), "") << next;
  EXPECT_EQ(content_of(object, "Ok.\n{\"s"), "Ok.\n{\"s");
  EXPECT_EQ(content_of(object, "Ok.\n{"), "Ok.\n{") << "too little to tell";
}

TEST(OutputParser, WithoutToolsTheirMarkupIsContent) {
  const char* text = " <tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n ";
  EXPECT_EQ((ParserRig{output_of(hermes_form()), {}, false}.parse(text)), (ParsedOutput{"", text, {}}));
  EXPECT_EQ((ParserRig{{}, kTools, false}.parse(text)), (ParsedOutput{"", text, {}}));
  EXPECT_EQ((ParserRig{gpt_oss_format().format, {}, false}.parse("<|channel|>final<|message|>A<|return|>")),
            (ParsedOutput{"", "A", {}}));
}

TEST(OutputParser, TextAndArgumentsFlowAsTheyCome) {
  OutputParser parser(with_reasoning(hermes_form()), kTools, false);
  using Kind = OutputEvent::Kind;
  const auto expect_push = [&](const char* text, const std::vector<OutputEvent>& events) {
    EXPECT_EQ(parser.push(text), events) << text;
  };
  expect_push("<think>Let", {{Kind::kReasoning, 0, "Let"}});
  expect_push(" me ", {{Kind::kReasoning, 0, " me"}});
  expect_push("see</thi", {{Kind::kReasoning, 0, " see"}});
  expect_push("nk>\n\nHello", {{Kind::kContent, 0, "Hello"}});
  expect_push(" a < b", {{Kind::kContent, 0, " a < b"}});
  expect_push("\n<tool", {});
  expect_push("box", {{Kind::kContent, 0, "\n<toolbox"}});
  expect_push("\n<tool_call>{\"name\": \"f\", \"argu", {});
  expect_push("ments\": {\"s", {{Kind::kToolCallBegin, 0, "f"}, {Kind::kToolCallArguments, 0, "{\"s"}});
  expect_push("\": \"a b", {{Kind::kToolCallArguments, 0, "\": \"a b"}});
  expect_push("c\"}", {{Kind::kToolCallArguments, 0, "c\"}"}});
  expect_push("}", {{Kind::kToolCallEnd, 0, ""}});
  expect_push("\n</tool_call>\n", {});
  expect_push("Bye ", {{Kind::kContent, 0, "Bye"}});
  EXPECT_EQ(parser.finish(), (std::vector<OutputEvent>{{Kind::kContent, 0, " "}}));
}

TEST(OutputParser, AStringArgumentBetweenTagsFlowsToo) {
  OutputParser parser(output_of(qwen3_coder_form()), kTools, false);
  (void)parser.push("<tool_call>\n<function=f>\n<parameter=s>\nabc");
  using Kind = OutputEvent::Kind;
  EXPECT_EQ(parser.push(" \"d\"\n<"), (std::vector<OutputEvent>{{Kind::kToolCallArguments, 0, " \\\"d\\\""}}));
  EXPECT_EQ(parser.push("e"), (std::vector<OutputEvent>{{Kind::kToolCallArguments, 0, "\\n<e"}}));
}

// Texts that keep the parser waiting, a megabyte each in small pieces. Nothing here measures time; a parser that
// repeatedly searched the waiting text would exceed the test's time limit.
TEST(OutputParser, AMegabyteThatIsNoCallComesBackWhole) {
  for (const char* unit : {" ", "<tool_call>{\"a\": \"", "<tool_call>", "<", "{\"a\":"}) {
    OutputParser parser(with_reasoning(hermes_form()), kTools, false);
    std::string given(unit == std::string_view("{\"a\":") ? "<tool_call>{\"b\":" : "");
    std::string back;
    const auto gather = [&](const std::vector<OutputEvent>& events) {
      for (const OutputEvent& event : events) back += event.text;
    };
    gather(parser.push(given));
    while (given.size() < 1'000'000) {
      given += unit;
      gather(parser.push(unit));
    }
    gather(parser.finish());
    EXPECT_EQ(back.size(), given.size()) << unit;
  }
}

}  // namespace
}  // namespace realizar::text
