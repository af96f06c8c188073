// Grammars of required tool calls, as each format spells them (text/output/output_format.h).
#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "grammar/json_schema.h"
#include "server/structured_output.h"

namespace realizar::server {
namespace {

using text::ToolFormat;

// A GBNF string literal.
std::string literal(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? "\\n" : std::string(1, c);
  }
  return quoted + "\"";
}

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

Json properties_of(const text::ToolSpec& tool) {
  return tool.parameters.is_object() ? tool.parameters.value("properties", Json::object()) : Json::object();
}

bool is_required(const text::ToolSpec& tool, const std::string& key) {
  const Json required = tool.parameters.is_object() ? tool.parameters.value("required", Json::array()) : Json();
  return std::find(required.begin(), required.end(), key) != required.end();
}

Result<std::string> xml_call(const XmlSyntax& syntax, const text::ToolSpec& tool, const std::string& prefix,
                             std::string& rules) {
  std::string call = literal(syntax.open + tool.name + syntax.name_end);
  const Json properties = properties_of(tool);
  size_t n_values = 0;
  for (const auto& [key, schema] : properties.items()) {
    std::string value = "raw-text";
    if (!is_string_schema(schema)) {
      const std::string own = fmt::format("{}v{}-", prefix, n_values++);
      Json standalone = schema;
      if (tool.parameters.contains("$defs") && schema.is_object()) standalone["$defs"] = tool.parameters["$defs"];
      RZ_TRY(const std::string gbnf, grammar::json_schema_to_gbnf(dump(standalone), {}));
      rules += with_prefix(gbnf, own) + "\n";
      value = own + "root";
    }
    const std::string element =
        fmt::format("{} {} {}", literal(syntax.key_open + key + syntax.key_close), value, literal(syntax.value_close));
    call += is_required(tool, key) ? " " + element : " (" + element + ")?";
  }
  return call + " " + literal(syntax.close);
}

Result<std::string> json_call(const CallSyntax& syntax, const text::ToolSpec& tool, const std::string& prefix,
                              std::string& rules) {
  Json schema = tool.parameters.is_object() && !tool.parameters.empty() ? tool.parameters : Json{{"type", "object"}};
  schema.emplace("type", "object");
  RZ_TRY(const std::string gbnf, grammar::json_schema_to_gbnf(dump(schema), {}));
  rules += with_prefix(gbnf, prefix) + "\n";
  return fmt::format("{} {}root {}", literal(syntax.open + tool.name + syntax.name_end), prefix, literal(syntax.close));
}

}  // namespace

Result<std::string> tool_call_grammar(ToolFormat format, std::span<const text::ToolSpec> tools, bool parallel) {
  const auto json = syntax_of(format);
  const auto xml = xml_syntax_of(format);
  if (!json && !xml)
    return unsupported("tool_choice: required calls are not built for this model's format", "tool_choice");
  std::string rules, call = "call ::= ";
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string prefix = fmt::format("t{}-", i);
    auto alternative = json ? json_call(*json, tools[i], prefix, rules) : xml_call(*xml, tools[i], prefix, rules);
    if (!alternative.ok()) {
      Error error = std::move(alternative).error();
      error.subject = fmt::format("tools[{}].function.parameters: {}", i, error.subject);
      return error;
    }
    call += (i > 0 ? " | " : "") + *alternative;
  }
  const CallSyntax around = json ? *json : CallSyntax{"", "", "", "", "\n", ""};
  const bool may_repeat = parallel && format != ToolFormat::kGptOss;
  std::string root = "root ::= " + literal(around.first) + " call";
  if (may_repeat) root += fmt::format(" ({} call)*", literal(around.between));
  root += " " + literal(around.last);
  // Text without the end tags of XML-like formats.
  const std::string raw = xml ? "raw-text ::= ([^<] | \"<\" [^/])*\n" : "";
  return fmt::format("{}\n{}\n{}{}", root, call, raw, rules);
}

}  // namespace realizar::server
