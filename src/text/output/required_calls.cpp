#include "text/output/required_calls.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/try.h"
#include "grammar/json_schema.h"
#include "grammar/rule_book.h"
#include "grammar/schema_keywords.h"
#include "text/output/formats/format.h"

namespace realizar::text {
namespace {

using grammar::ExprId;
using grammar::RuleBook;
using Json = nlohmann::ordered_json;

bool is_string_schema(const Json& schema) {
  return schema.is_object() && schema.value("type", Json()) == "string";
}

bool is_required(const Json& parameters, const std::string& key) {
  const Json required = parameters.value("required", Json::array());
  return std::find(required.begin(), required.end(), key) != required.end();
}

// Adds the rules of the schema at `place` in the tool's parameters. Errors speak of that place.
Result<ExprId> add_schema(const RequiredTool& tool, const Json& parameters, const std::string& place, RuleBook& book) {
  const std::string text = parameters.dump(-1, ' ', false, Json::error_handler_t::replace);
  auto rule = grammar::add_json_schema(book, text, {}, {.root = place, .relaxed = !tool.is_strict});
  if (rule.ok()) return rule;
  Error error = std::move(rule).error();
  error.subject = std::string(tool.place) + ".function.parameters";
  error.message = error.subject + ": " + error.message;
  return error;
}

Result<ExprId> json_arguments(const RequiredTool& tool, RuleBook& book) {
  Json parameters = tool.spec->parameters;
  parameters.emplace("type", "object");
  return add_schema(tool, parameters, "#", book);
}

// One element an argument, in the schema's order; those that are not required may be missing.
Result<ExprId> tagged_arguments(const ArgumentTags& tags, const RequiredTool& tool, RuleBook& book) {
  const Json& parameters = tool.spec->parameters;
  const Json properties = parameters.value("properties", Json::object());
  std::vector<ExprId> elements;
  for (const auto& [key, schema] : properties.items()) {
    ExprId value = grammar::kNoExpr;
    if (is_string_schema(schema)) {
      value = book.gbnf(R"(([^<] | "<" [^/])*)");  // without an end tag
    } else {
      RZ_TRY(value, add_schema(tool, parameters, grammar::path_to("#/properties", key), book));
    }
    const ExprId element =
        book.sequence({book.literal(tags.key_open + key + tags.key_close), value, book.literal(tags.value_close)});
    elements.push_back(is_required(parameters, key) ? element : book.optional(element));
  }
  return book.sequence(elements);
}

Result<ExprId> call_of(const CallSpelling& spelling, const RequiredTool& tool, RuleBook& book) {
  const auto& tags = spelling.argument_tags;
  RZ_TRY(const ExprId arguments, tags ? tagged_arguments(*tags, tool, book) : json_arguments(tool, book));
  const ExprId head = book.literal(spelling.open + tool.spec->name + spelling.name_end);
  return book.sequence({head, arguments, book.literal(spelling.close)});
}

}  // namespace

Result<grammar::RuleSet> required_calls(ToolFormat format, std::span<const RequiredTool> tools, bool parallel) {
  const FormatSpec* spec = spec_of(format);
  if (spec == nullptr || !spec->required) {
    return unsupported("tool_choice: required calls are not built for this model's format", "tool_choice");
  }
  const CallSpelling& spelling = *spec->required;
  RuleBook book;
  std::vector<ExprId> calls;
  for (const RequiredTool& tool : tools) {
    RZ_TRY(calls.emplace_back(), call_of(spelling, tool, book));
  }
  const ExprId call = book.add("call", book.choice(calls));
  const ExprId another = book.sequence({book.literal(spelling.between), call});
  const bool may_repeat = parallel && !spelling.is_single;
  const ExprId more = may_repeat ? book.repeat(another, 0, grammar::kNoMaximum) : book.literal("");
  const grammar::RuleId root = book.named("root");
  book.define(root, book.sequence({book.literal(spelling.first), call, more, book.literal(spelling.last)}));
  return book.take(root);
}

}  // namespace realizar::text
