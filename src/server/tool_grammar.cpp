#include "server/tool_grammar.h"

#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "grammar/json_schema.h"
#include "grammar/rule_book.h"
#include "grammar/schema_keywords.h"

namespace realizar::server {
namespace {

using grammar::gbnf_literal;
using grammar::RuleBook;
using text::ToolFormat;

constexpr const char* kRawText = "raw-text";  // a rule

// Around each call, between calls, and around all of them.
struct CallSyntax {
  std::string open, name_end, close;  // open NAME name_end ARGUMENTS close
  std::string first, between, last;
};

std::optional<CallSyntax> syntax_of(ToolFormat format) {
  switch (format) {
    case ToolFormat::kHermes:
      return CallSyntax{"<tool_call>\n{\"name\": \"", "\", \"arguments\": ", "}\n</tool_call>", "", "\n", ""};
    case ToolFormat::kLlama3Json:
      return CallSyntax{"{\"name\": \"", "\", \"parameters\": ", "}", "", "; ", ""};
    case ToolFormat::kMistral:
      return CallSyntax{"{\"name\": \"", "\", \"arguments\": ", "}", "[TOOL_CALLS][", ", ", "]"};
    case ToolFormat::kGranite:
      return CallSyntax{"{\"name\": \"", "\", \"arguments\": ", "}", "<|tool_call|>[", ", ", "]"};
    case ToolFormat::kKimi:
      return CallSyntax{"<|tool_call_begin|>functions.",
                        ":0<|tool_call_argument_begin|>",
                        "<|tool_call_end|>",
                        "<|tool_calls_section_begin|>",
                        "",
                        "<|tool_calls_section_end|>"};
    case ToolFormat::kDeepSeek:
      return CallSyntax{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                        "\n```json\n",
                        "\n```<｜tool▁call▁end｜>",
                        "<｜tool▁calls▁begin｜>",
                        "\n",
                        "<｜tool▁calls▁end｜>"};
    case ToolFormat::kGptOss:
      return CallSyntax{"<|channel|>commentary to=functions.", " <|constrain|>json<|message|>", "", "", "", ""};
    default:
      return std::nullopt;
  }
}

bool is_string_schema(const Json& schema) {
  return schema.is_object() && schema.value("type", Json()) == "string";
}

// The arguments of XML-like formats: one element each, in the schema's order, those that are not required optional.
struct XmlSyntax {
  std::string open, name_end, close;             // of a call
  std::string key_open, key_close, value_close;  // of an argument
};

std::optional<XmlSyntax> xml_syntax_of(ToolFormat format) {
  if (format == ToolFormat::kQwen3Coder) {
    return XmlSyntax{"<tool_call>\n<function=", ">\n", "</function>\n</tool_call>", "<parameter=", ">\n",
                     "\n</parameter>\n"};
  }
  if (format == ToolFormat::kGlm) {
    return XmlSyntax{"<tool_call>", "\n", "</tool_call>", "<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"};
  }
  return std::nullopt;
}

bool is_required(const Json& parameters, const std::string& key) {
  const Json required = parameters.value("required", Json::array());
  return std::find(required.begin(), required.end(), key) != required.end();
}

// Adds the rules of the schema at `place` in the tool's parameters; gives the name of the first. Errors speak of that
// place.
Result<std::string> add_rules(const ChatTool& tool, const Json& parameters, const std::string& place, RuleBook& book) {
  auto rule = grammar::add_json_schema(book, dump(parameters), {}, {.root = place, .relaxed = !tool.is_strict});
  if (rule.ok()) return rule;
  Error error = std::move(rule).error();
  error.subject = tool.place + ".function.parameters";
  error.message = error.subject + ": " + error.message;
  return error;
}

Result<std::string> xml_call(const XmlSyntax& syntax, const ChatTool& tool, RuleBook& book) {
  const Json& parameters = tool.spec.parameters;
  const Json properties = parameters.value("properties", Json::object());
  std::string call = gbnf_literal(syntax.open + tool.spec.name + syntax.name_end);
  for (const auto& [key, schema] : properties.items()) {
    std::string value = kRawText;
    if (!is_string_schema(schema)) {
      RZ_TRY(value, add_rules(tool, parameters, grammar::path_to("#/properties", key), book));
    }
    const std::string element = fmt::format("{} {} {}", gbnf_literal(syntax.key_open + key + syntax.key_close), value,
                                            gbnf_literal(syntax.value_close));
    call += is_required(parameters, key) ? " " + element : " (" + element + ")?";
  }
  return call + " " + gbnf_literal(syntax.close);
}

Result<std::string> json_call(const CallSyntax& syntax, const ChatTool& tool, RuleBook& book) {
  Json parameters = tool.spec.parameters;
  parameters.emplace("type", "object");
  RZ_TRY(const std::string arguments, add_rules(tool, parameters, "#", book));
  return fmt::format("{} {} {}", gbnf_literal(syntax.open + tool.spec.name + syntax.name_end), arguments,
                     gbnf_literal(syntax.close));
}

}  // namespace

Result<std::string> tool_call_grammar(ToolFormat format, std::span<const ChatTool> tools, bool parallel) {
  const auto json = syntax_of(format);
  const auto xml = xml_syntax_of(format);
  if (!json && !xml)
    return unsupported("tool_choice: required calls are not built for this model's format", "tool_choice");
  RuleBook book;
  std::string calls;
  for (const ChatTool& tool : tools) {
    RZ_TRY(const std::string call, json ? json_call(*json, tool, book) : xml_call(*xml, tool, book));
    calls += (calls.empty() ? "" : " | ") + call;
  }
  const std::string call = book.add("call", calls);
  const CallSyntax around = json ? *json : CallSyntax{"", "", "", "", "\n", ""};
  const bool may_repeat = parallel && format != ToolFormat::kGptOss;
  const std::string more = may_repeat ? fmt::format(" ({} {})*", gbnf_literal(around.between), call) : "";
  book.define("root", fmt::format("{} {}{} {}", gbnf_literal(around.first), call, more, gbnf_literal(around.last)));
  // Text without the end tags of XML-like formats.
  if (xml) book.define(kRawText, R"(([^<] | "<" [^/])*)");
  return book.text();
}

}  // namespace realizar::server
