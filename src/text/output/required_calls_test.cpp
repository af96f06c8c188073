#include "text/output/required_calls.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result_checks.h"
#include "grammar/lark.h"
#include "grammar/test_support.h"
#include "text/output/parser_rig.h"
#include "text/output/sample_forms.h"

namespace realizar::text {
namespace {

ToolSpec tool(const std::string& parameters, const std::string& name = "f") {
  return {name, nlohmann::ordered_json::parse(parameters)};
}

Result<grammar::RuleSet> rules_of(const CallForm& format, const ToolSpec& one, bool is_strict = false) {
  const RequiredTool required{&one, "tools[3].function.parameters", is_strict};
  return required_calls(format, {&required, 1}, false);
}

bool allows(const CallForm& format, const ToolSpec& one, const std::string& call) {
  const auto rules = rules_of(format, one);
  if (!rules.ok()) return false;
  const auto grammar = grammar::Grammar::from_rules(*rules);
  return grammar.ok() && grammar::matches(*grammar, call);
}

std::string hermes(const std::string& arguments) {
  return "<tool_call>\n{\"name\": \"f\", \"arguments\": " + arguments + "}\n</tool_call>";
}
std::string qwen3_coder(const std::string& key, const std::string& value) {
  return "<tool_call>\n<function=f>\n<parameter=" + key + ">\n" + value + "\n</parameter>\n</function>\n</tool_call>";
}

// References may point anywhere in the schema, even if each argument has its own grammar.
TEST(RequiredCalls, ArgumentsMayReferToAnyPlaceOfTheSchema) {
  const ToolSpec one = tool(R"({"type": "object", "properties": {"a/b": {"$ref": "#/definitions/count"},
      "c": {"$ref": "#/properties/a~1b"}}, "definitions": {"count": {"type": "integer"}}})");
  EXPECT_TRUE(allows(hermes_form(), one, hermes(R"({"a/b": 5})")));
  EXPECT_FALSE(allows(hermes_form(), one, hermes(R"({"a/b": "x"})")));
  for (const char* key : {"a/b", "c"}) {
    EXPECT_TRUE(allows(qwen3_coder_form(), one, qwen3_coder(key, "5"))) << key;
    EXPECT_FALSE(allows(qwen3_coder_form(), one, qwen3_coder(key, "x"))) << key;
  }
}

// All tools' rules are in one grammar.
TEST(RequiredCalls, DefinitionsOfOneNameBelongToTheirTools) {
  for (const CallForm& format : {hermes_form(), qwen3_coder_form()}) {
    const ToolSpec f = tool(R"({"properties": {"n": {"$ref": "#/$defs/x"}}, "required": ["n"],
                                "$defs": {"x": {"type": "integer"}}})");
    const ToolSpec g = tool(R"({"properties": {"n": {"$ref": "#/$defs/x"}}, "required": ["n"],
                                "$defs": {"x": {"type": "boolean"}}})",
                            "g");
    const std::vector<RequiredTool> tools{{&f, "tools[0]", false}, {&g, "tools[1]", false}};
    const auto rules = must(required_calls(format, tools, true));
    const auto grammar = must(grammar::Grammar::from_rules(rules));
    const auto call = [&](char name, const std::string& value) {
      std::string text = !format.tags ? hermes("{\"n\":" + value + "}") : qwen3_coder("n", value);
      const std::string before = !format.tags ? "\"name\": \"" : "<function=";
      text[text.find(before) + before.size()] = name;
      return text;
    };
    EXPECT_TRUE(grammar::matches(grammar, call('f', "7")));
    EXPECT_TRUE(grammar::matches(grammar, call('g', "true")));
    EXPECT_TRUE(grammar::matches(grammar, call('g', "true") + "\n" + call('f', "7")));
    EXPECT_FALSE(grammar::matches(grammar, call('f', "true")));
    EXPECT_FALSE(grammar::matches(grammar, call('g', "7")));
  }
}

TEST(RequiredCalls, TextInTagsIsHeldToItsSchema) {
  const auto matches = [](const std::string& schema, const std::string& text, bool is_strict = true) {
    const auto rules = must(rules_of(qwen3_coder_form(), tool(R"({"properties": {"s": )" + schema + "}}"), is_strict));
    const auto grammar = must(grammar::Grammar::from_rules(rules));
    return grammar::matches(grammar, qwen3_coder("s", text));
  };
  const std::string bounded = R"({"type": "string", "minLength": 2, "maxLength": 3})";
  for (const bool is_strict : {false, true}) {
    EXPECT_TRUE(matches(bounded, "<\"\xC3\xA9", is_strict));
    EXPECT_FALSE(matches(bounded, "a", is_strict));
    EXPECT_FALSE(matches(bounded, "abcd", is_strict));
  }
  EXPECT_TRUE(matches(R"({"type": "string", "pattern": "^a+$"})", "aaa"));
  EXPECT_FALSE(matches(R"({"type": "string", "pattern": "^a+$"})", "ab"));
  EXPECT_TRUE(matches(R"({"anyOf": [{"type": "string", "enum": ["x", "y"]}]})", "x"));
  EXPECT_FALSE(matches(R"({"anyOf": [{"type": "string", "enum": ["x", "y"]}]})", "z"));
  EXPECT_TRUE(matches(R"({"type": "string"})", "a\nb </p"));
  EXPECT_FALSE(matches(R"({"type": "string"})", "a</parameter>b"));
  EXPECT_TRUE(matches(R"({"type": "string", "maxLength": 1000})", std::string(1000, 'a')));
}

TEST(RequiredCalls, TextThatNoAutomatonHoldsIsRefusedWhereItIsStrict) {
  for (const char* keyword : {R"("pattern": "(a)\\1")", R"("maxLength": 100000)"}) {
    const ToolSpec one = tool(R"({"properties": {"s": {"type": "string", )" + std::string(keyword) + "}}}");
    const auto refused = rules_of(qwen3_coder_form(), one, true);
    ASSERT_FALSE(refused.ok()) << keyword;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported) << keyword;
    EXPECT_TRUE(allows(qwen3_coder_form(), one, qwen3_coder("s", "b"))) << keyword;
  }
}

TEST(RequiredCalls, ErrorsNameTheToolAndThePlaceInItsSchema) {
  const std::string schema = R"({"type": "object", "properties": {"n": {"type": "integer", "$dynamicRef": "#n"}}})";
  for (const CallForm& format : {hermes_form(), qwen3_coder_form()}) {
    const ToolSpec one = tool(schema);
    EXPECT_TRUE(fails_with(rules_of(format, one, true), ErrorCode::kUnsupported, "#/properties/n",
                           "tools[3].function.parameters"));
    EXPECT_TRUE(rules_of(format, one).ok());
  }
}

TEST(RequiredCalls, SchemasThatAreNoneAreRefused) {
  for (const char* schema :
       {R"({"properties": 5})", R"({"properties": {"a": 5}})", R"({"properties": {"a": {"type": 1}}})"}) {
    for (const CallForm& format : {hermes_form(), qwen3_coder_form()}) {
      const ToolSpec one = tool(schema);
      const auto refused = rules_of(format, one);
      ASSERT_FALSE(refused.ok()) << schema;
      EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument) << schema;
    }
  }
}

// Every call that a format's grammar allows is read back by the format's reader: both are in one file, and agree.
TEST(RequiredCalls, AreReadBackByTheirFormat) {
  const ToolSpec one = tool(R"({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})");
  const std::pair<CallForm, const char*> cases[] = {
      {hermes_form(), "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": 5}}\n</tool_call>"},
      {llama3_form(), "{\"name\": \"f\", \"parameters\": {\"n\": 5}}"},
      {mistral_list_form(), "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"n\": 5}}]"},
      {*granite_format().format.calls, "<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"n\": 5}}]"},
      {*kimi_format().format.calls,
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"n\": 5}"
       "<|tool_call_end|><|tool_calls_section_end|>"},
      {deepseek_r1_form(),
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"n\": 5}\n```<｜tool▁call▁end｜>"
       "<｜tool▁calls▁end｜>"},
      {*gpt_oss_format().format.calls, "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"n\": 5}"},
      {qwen3_coder_form(), "<tool_call>\n<function=f>\n<parameter=n>\n5\n</parameter>\n</function>\n</tool_call>"},
      {glm_form(), "<tool_call>f\n<arg_key>n</arg_key>\n<arg_value>5</arg_value>\n</tool_call>"},
      {mistral_form(), "[TOOL_CALLS]f[ARGS]{\"n\": 5}"},
      {deepseek_form(),
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"n\": 5}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {dsml_form(),
       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"n\" string=\"false\">5"
       "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
      {cohere_form(),
       "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": {\"n\": 5}}\n]"
       "<|END_ACTION|>"},
      {apertus_form(), "<|tools_prefix|>[{\"f\": {\"n\": 5}}]<|tools_suffix|>"},
      {gemma_form(), "<|tool_call>call:f{n:5}<tool_call|>"},
      {olmo_form(), "<function_calls>f(n=5)</function_calls>"},
      {lfm2_form(), "<|tool_call_start|>[f(n=5)]<|tool_call_end|>"},
  };
  for (const auto& [format, text] : cases) {
    EXPECT_TRUE(allows(format, one, text)) << text;
    const bool is_message = format.arguments == CallForm::Arguments::kMessage;
    const ParserRig rig{is_message ? gpt_oss_format().format : output_of(format), {one}, false};
    const ParsedOutput parsed = rig.parse(text);
    EXPECT_EQ(parsed.content, "") << text;
    ASSERT_EQ(parsed.calls.size(), 1u) << text;
    EXPECT_EQ(parsed.calls[0].first, "f");
    EXPECT_EQ(nlohmann::json::parse(parsed.calls[0].second), nlohmann::json({{"n", 5}})) << text;
  }
}

// A custom tool: its only argument is a text with its own grammar.
ToolSpec text_tool() {
  return tool(R"({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]})");
}

grammar::RuleSet lark(const char* source) {
  return must(grammar::parse_lark(source, "g"));
}

TEST(RequiredCalls, TheTextOfACustomToolFollowsItsGrammar) {
  const ToolSpec spec = text_tool();
  const grammar::RuleSet input = lark("start: \"a\\n\"+ \"\\\"\"");
  for (const CallForm& format : {hermes_form(), qwen3_coder_form()}) {
    const RequiredTool one{&spec, "tools[0]", true, &input};
    const auto rules = must(required_calls(format, {&one, 1}, false));
    const auto grammar = must(grammar::Grammar::from_rules(rules));
    const bool is_json = !format.tags;
    const std::string good = is_json ? hermes(R"({"input": "a\na\n\""})") : qwen3_coder("input", "a\na\n\"");
    const std::string bad = is_json ? hermes(R"({"input": "b"})") : qwen3_coder("input", "b");
    EXPECT_TRUE(grammar::matches(grammar, good)) << good;
    EXPECT_FALSE(grammar::matches(grammar, bad)) << bad;
  }
}

TEST(OptionalCalls, StandAfterTextThatHasNoneOfTheirMarks) {
  const ToolSpec spec = text_tool(), other = tool("{}", "g");
  const grammar::RuleSet input = lark("start: /[ab]+/");
  const std::vector<RequiredTool> tools{{&spec, "tools[0]", true, &input}, {&other, "tools[1]", false}};
  const auto matches = [&](const CallForm& format, const std::string& text, bool parallel = true) {
    const auto rules = must(optional_calls(format, tools, parallel));
    const auto grammar = must(grammar::Grammar::from_rules(rules));
    return grammar::matches(grammar, text);
  };
  const std::string call = hermes(R"({"input": "ab"})");
  std::string free = hermes(R"({"x": [1, {"y": null}]})");
  free[free.find("\"f\"") + 1] = 'g';
  for (const std::string& text :
       {std::string(), std::string("Hello <b>you</b> \xC3\xA9\n"), call, "Look:\n" + call, free, call + "\n" + free}) {
    EXPECT_TRUE(matches(hermes_form(), text)) << text;
  }
  const std::vector<std::string> unreadable{"Look: <tool_call>", call.substr(0, 30), "<tool_call>{}</tool_call>"};
  for (const std::string& text : unreadable) {
    EXPECT_FALSE(matches(hermes_form(), text)) << text;
  }
  EXPECT_FALSE(matches(hermes_form(), hermes(R"({"input": "c"})")));
  EXPECT_FALSE(matches(hermes_form(), call + "\n" + free, false));
  std::string tagged = qwen3_coder("x", "anything");
  tagged[tagged.find("=f>") + 1] = 'g';
  EXPECT_TRUE(matches(qwen3_coder_form(), "Look: " + tagged));
  EXPECT_TRUE(matches(qwen3_coder_form(), qwen3_coder("input", "ba")));
  EXPECT_FALSE(matches(qwen3_coder_form(), qwen3_coder("input", "c")));
}

TEST(OptionalCalls, AreNotBuiltWhereTextMayBeginAsTheyDo) {
  EXPECT_TRUE(has_optional_calls(output_of(hermes_form())));
  EXPECT_TRUE(has_optional_calls(output_of(mistral_form())));
  for (const OutputFormat& format : {OutputFormat{}, output_of(llama3_form()), gpt_oss_format().format}) {
    EXPECT_FALSE(has_optional_calls(format));
  }
}

}  // namespace
}  // namespace realizar::text
