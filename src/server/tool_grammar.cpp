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
using text::ToolFormat;

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

// Skips a literal or a character class that begins at `at`.
size_t end_of_quoted(std::string_view gbnf, size_t at) {
  const char close = gbnf[at] == '[' ? ']' : '"';
  for (++at; at < gbnf.size() && gbnf[at] != close; ++at) at += gbnf[at] == '\\' ? 1 : 0;
  return std::min(at + 1, gbnf.size());
}

// Puts `prefix` before every rule name, so that several grammars stand in one.
std::string with_prefix(std::string_view gbnf, const std::string& prefix) {
  std::string text;
  for (size_t at = 0; at < gbnf.size();) {
    size_t end = at + 1;
    if (gbnf[at] == '"' || gbnf[at] == '[') {
      end = end_of_quoted(gbnf, at);
    } else if (gbnf[at] == '{') {
      end = std::min(gbnf.find('}', at), gbnf.size() - 1) + 1;
    } else if (is_name_char(gbnf[at])) {
      while (end < gbnf.size() && is_name_char(gbnf[end])) ++end;
      text += prefix;
    }
    text += gbnf.substr(at, end - at);
    at = end;
  }
  return text;
}

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

// The rules of the schema at `place` in the tool's parameters. Errors speak of that place.
Result<std::string> rules_of(const ChatTool& tool, const Json& parameters, const std::string& place,
                             const std::string& prefix) {
  auto gbnf = grammar::json_schema_to_gbnf(dump(parameters), {}, {.root = place, .relaxed = !tool.is_strict});
  if (gbnf.ok()) return with_prefix(*gbnf, prefix) + "\n";
  Error error = std::move(gbnf).error();
  error.subject = tool.place + ".function.parameters";
  error.message = error.subject + ": " + error.message;
  return error;
}

Result<std::string> xml_call(const XmlSyntax& syntax, const ChatTool& tool, const std::string& prefix,
                             std::string& rules) {
  const Json& parameters = tool.spec.parameters;
  const Json properties = parameters.value("properties", Json::object());
  std::string call = gbnf_literal(syntax.open + tool.spec.name + syntax.name_end);
  size_t n_values = 0;
  for (const auto& [key, schema] : properties.items()) {
    std::string value = "raw-text";
    if (!is_string_schema(schema)) {
      const std::string own = fmt::format("{}v{}-", prefix, n_values++);
      RZ_TRY(const std::string gbnf, rules_of(tool, parameters, grammar::path_to("#/properties", key), own));
      rules += gbnf;
      value = own + "root";
    }
    const std::string element = fmt::format("{} {} {}", gbnf_literal(syntax.key_open + key + syntax.key_close), value,
                                            gbnf_literal(syntax.value_close));
    call += is_required(parameters, key) ? " " + element : " (" + element + ")?";
  }
  return call + " " + gbnf_literal(syntax.close);
}

Result<std::string> json_call(const CallSyntax& syntax, const ChatTool& tool, const std::string& prefix,
                              std::string& rules) {
  Json parameters = tool.spec.parameters;
  parameters.emplace("type", "object");
  RZ_TRY(const std::string gbnf, rules_of(tool, parameters, "#", prefix));
  rules += gbnf;
  return fmt::format("{} {}root {}", gbnf_literal(syntax.open + tool.spec.name + syntax.name_end), prefix,
                     gbnf_literal(syntax.close));
}

}  // namespace

Result<std::string> tool_call_grammar(ToolFormat format, std::span<const ChatTool> tools, bool parallel) {
  const auto json = syntax_of(format);
  const auto xml = xml_syntax_of(format);
  if (!json && !xml)
    return unsupported("tool_choice: required calls are not built for this model's format", "tool_choice");
  std::string rules, call = "call ::= ";
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string prefix = fmt::format("t{}-", i);
    RZ_TRY(const std::string alternative,
           json ? json_call(*json, tools[i], prefix, rules) : xml_call(*xml, tools[i], prefix, rules));
    call += (i > 0 ? " | " : "") + alternative;
  }
  const CallSyntax around = json ? *json : CallSyntax{"", "", "", "", "\n", ""};
  const bool may_repeat = parallel && format != ToolFormat::kGptOss;
  std::string root = "root ::= " + gbnf_literal(around.first) + " call";
  if (may_repeat) root += fmt::format(" ({} call)*", gbnf_literal(around.between));
  root += " " + gbnf_literal(around.last);
  // Text without the end tags of XML-like formats.
  const std::string raw = xml ? "raw-text ::= ([^<] | \"<\" [^/])*\n" : "";
  return fmt::format("{}\n{}\n{}{}", root, call, raw, rules);
}

}  // namespace realizar::server
