#include "server/tool_grammar.h"

#include <nlohmann/json.hpp>

#include "grammar/test_support.h"

namespace realizar::server {
namespace {

using text::ToolFormat;

ChatTool tool(const std::string& parameters, bool is_strict = false) {
  return {{"f", *parse_json(parameters)}, Json(), "tools[3]", is_strict};
}

bool allows(ToolFormat format, const ChatTool& one, const std::string& call) {
  const auto gbnf = tool_call_grammar(format, {&one, 1}, false);
  if (!gbnf.ok()) return false;
  const auto grammar = grammar::Grammar::from_gbnf(*gbnf);
  return grammar.ok() && grammar::matches(*grammar, call);
}

std::string hermes(const std::string& arguments) {
  return "<tool_call>\n{\"name\": \"f\", \"arguments\": " + arguments + "}\n</tool_call>";
}
std::string qwen3_coder(const std::string& key, const std::string& value) {
  return "<tool_call>\n<function=f>\n<parameter=" + key + ">\n" + value + "\n</parameter>\n</function>\n</tool_call>";
}

// References lead through the whole schema, also where each argument has a grammar of its own.
TEST(ToolGrammar, ArgumentsMayReferToAnyPlaceOfTheSchema) {
  const ChatTool one = tool(R"({"type": "object", "properties": {"a/b": {"$ref": "#/definitions/count"},
      "c": {"$ref": "#/properties/a~1b"}}, "definitions": {"count": {"type": "integer"}}})");
  EXPECT_TRUE(allows(ToolFormat::kHermes, one, hermes(R"({"a/b": 5})")));
  EXPECT_FALSE(allows(ToolFormat::kHermes, one, hermes(R"({"a/b": "x"})")));
  for (const char* key : {"a/b", "c"}) {
    EXPECT_TRUE(allows(ToolFormat::kQwen3Coder, one, qwen3_coder(key, "5"))) << key;
    EXPECT_FALSE(allows(ToolFormat::kQwen3Coder, one, qwen3_coder(key, "x"))) << key;
  }
}

// All tools' rules stand in one grammar.
TEST(ToolGrammar, DefinitionsOfOneNameBelongToTheirTools) {
  for (const ToolFormat format : {ToolFormat::kHermes, ToolFormat::kQwen3Coder}) {
    std::vector<ChatTool> tools{tool(R"({"properties": {"n": {"$ref": "#/$defs/x"}}, "required": ["n"],
                                        "$defs": {"x": {"type": "integer"}}})"),
                                tool(R"({"properties": {"n": {"$ref": "#/$defs/x"}}, "required": ["n"],
                                        "$defs": {"x": {"type": "boolean"}}})")};
    tools[1].spec.name = "g";
    const auto gbnf = tool_call_grammar(format, tools, true);
    ASSERT_TRUE(gbnf.ok()) << gbnf.error().message;
    const auto grammar = grammar::Grammar::from_gbnf(*gbnf);
    ASSERT_TRUE(grammar.ok()) << grammar.error().message;
    const auto call = [&](char name, const std::string& value) {
      std::string text = format == ToolFormat::kHermes ? hermes("{\"n\":" + value + "}") : qwen3_coder("n", value);
      const std::string before = format == ToolFormat::kHermes ? "\"name\": \"" : "<function=";
      text[text.find(before) + before.size()] = name;
      return text;
    };
    EXPECT_TRUE(grammar::matches(*grammar, call('f', "7")));
    EXPECT_TRUE(grammar::matches(*grammar, call('g', "true")));
    EXPECT_TRUE(grammar::matches(*grammar, call('g', "true") + "\n" + call('f', "7")));
    EXPECT_FALSE(grammar::matches(*grammar, call('f', "true")));
    EXPECT_FALSE(grammar::matches(*grammar, call('g', "7")));
  }
}

TEST(ToolGrammar, ErrorsNameTheToolAndThePlaceInItsSchema) {
  const std::string schema = R"({"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 3}}})";
  for (const ToolFormat format : {ToolFormat::kHermes, ToolFormat::kQwen3Coder}) {
    const ChatTool strict = tool(schema, true);
    const auto refused = tool_call_grammar(format, {&strict, 1}, false);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(refused.error().subject, "tools[3].function.parameters");
    EXPECT_NE(refused.error().message.find("#/properties/n"), std::string::npos) << refused.error().message;
    const ChatTool relaxed = tool(schema);
    EXPECT_TRUE(tool_call_grammar(format, {&relaxed, 1}, false).ok());
  }
}

TEST(ToolGrammar, SchemasThatAreNoneAreRefused) {
  for (const char* schema :
       {R"({"properties": 5})", R"({"properties": {"a": 5}})", R"({"properties": {"a": {"type": 1}}})"}) {
    for (const ToolFormat format : {ToolFormat::kHermes, ToolFormat::kQwen3Coder}) {
      const ChatTool one = tool(schema);
      const auto refused = tool_call_grammar(format, {&one, 1}, false);
      ASSERT_FALSE(refused.ok()) << schema;
      EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument) << schema;
    }
  }
}

}  // namespace
}  // namespace realizar::server
