#include "text/output/required_calls.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/try.h"
#include "grammar/json_schema.h"
#include "grammar/regular.h"
#include "grammar/rule_book.h"
#include "grammar/rule_copy.h"
#include "grammar/schema_keywords.h"
#include "text/json_text.h"
#include "text/output/formats/format.h"

namespace realizar::text {
namespace {

using grammar::ExprId;
using grammar::RuleBook;
using Json = nlohmann::ordered_json;

constexpr const char* kUntaggedText = R"(([^<] | "<" [^/])*)";  // without an end tag

bool is_string_schema(const Json& schema) {
  return schema.is_object() && schema.value("type", Json()) == "string";
}

bool is_required(const Json& parameters, const std::string& key) {
  const Json required = parameters.value("required", Json::array());
  return std::find(required.begin(), required.end(), key) != required.end();
}

// Adds the rules of the schema at `place` in the tool's parameters. Errors speak of that place.
Result<ExprId> add_schema(const RequiredTool& tool, const Json& parameters, const std::string& place, RuleBook& book) {
  auto rule = grammar::add_json_schema(book, json_text(parameters), {}, {.root = place, .relaxed = !tool.is_strict});
  if (rule.ok()) return rule;
  Error error = std::move(rule).error();
  error.subject = tool.place;
  error.message = error.subject + ": " + error.message;
  return error;
}

// The name of a custom tool's only argument.
std::string input_name(const RequiredTool& tool) {
  return tool.spec->parameters.at("properties").begin().key();
}

Result<ExprId> json_arguments(const RequiredTool& tool, RuleBook& book) {
  if (tool.input != nullptr) {
    const ExprId text = grammar::copy_rules(book, *tool.input, true);
    return book.sequence({book.literal("{\"" + input_name(tool) + "\": \""), text, book.literal("\"}")});
  }
  Json parameters = tool.spec->parameters;
  parameters.emplace("type", "object");
  return add_schema(tool, parameters, "#", book);
}

// One element an argument, in the schema's order; those that are not required may be missing.
Result<ExprId> tagged_arguments(const ArgumentTags& tags, const RequiredTool& tool, RuleBook& book) {
  if (tool.input != nullptr) {
    const ExprId text = grammar::copy_rules(book, *tool.input, false);
    const std::string open = tags.key_open + input_name(tool) + tags.key_close;
    return book.sequence({book.literal(open), text, book.literal(tags.value_close)});
  }
  const Json& parameters = tool.spec->parameters;
  const Json properties = parameters.value("properties", Json::object());
  std::vector<ExprId> elements;
  for (const auto& [key, schema] : properties.items()) {
    ExprId value = grammar::kNoExpr;
    if (is_string_schema(schema)) {
      value = book.gbnf(kUntaggedText);
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

// One or more calls, as the format joins them.
ExprId calls_of(const CallSpelling& spelling, std::span<const ExprId> calls, bool parallel, RuleBook& book) {
  const ExprId call = book.add("call", book.choice(calls));
  const ExprId another = book.sequence({book.literal(spelling.between), call});
  const bool may_repeat = parallel && !spelling.is_single;
  const ExprId more = may_repeat ? book.repeat(another, 0, grammar::kNoMaximum) : book.literal("");
  return book.sequence({book.literal(spelling.first), call, more, book.literal(spelling.last)});
}

// A call whose arguments are only held to what can be read.
Result<ExprId> free_call_of(const CallSpelling& spelling, const RequiredTool& tool, RuleBook& book) {
  ExprId arguments = grammar::kNoExpr;
  if (const auto& tags = spelling.argument_tags) {
    arguments =
        book.repeat(book.sequence({book.literal(tags->key_open), book.gbnf("[^<>=\\n]+"), book.literal(tags->key_close),
                                   book.gbnf(kUntaggedText), book.literal(tags->value_close)}),
                    0, grammar::kNoMaximum);
  } else {
    RZ_TRY(arguments, grammar::add_json_schema(book, R"({"type": "object"})", {}, {}));
  }
  return book.sequence(
      {book.literal(spelling.open + tool.spec->name + spelling.name_end), arguments, book.literal(spelling.close)});
}

std::vector<std::string> call_marks(const FormatSpec& spec) {
  std::vector<std::string> marks = spec.markers.opening;
  marks.insert(marks.end(), spec.markers.leading.begin(), spec.markers.leading.end());
  return marks;
}

// Text without the marks. Its automaton has a state for each of their characters.
ExprId text_without(std::span<const std::string> marks, RuleBook& book) {
  grammar::Terms terms;
  std::vector<grammar::TermId> with;
  for (const std::string& mark : marks) {
    with.push_back(terms.sequence(terms.everything(), terms.sequence(terms.literal(mark), terms.everything())));
  }
  const auto machine = terms.machine_of(terms.complement(terms.any_of(with)));
  REQUIRE(machine && !machine->states.empty());
  return grammar::expr_of(book, *machine, false);
}

}  // namespace

Result<grammar::RuleSet> required_calls(ToolFormat format, std::span<const RequiredTool> tools, bool parallel) {
  const FormatSpec* spec = spec_of(format);
  if (spec == nullptr || !spec->required) {
    return unsupported("tool_choice: required calls are not built for this model's format", "tool_choice");
  }
  RuleBook book;
  std::vector<ExprId> calls;
  for (const RequiredTool& tool : tools) {
    RZ_TRY(calls.emplace_back(), call_of(*spec->required, tool, book));
  }
  const grammar::RuleId root = book.named("root");
  book.define(root, calls_of(*spec->required, calls, parallel, book));
  return book.take(root);
}

bool has_optional_calls(ToolFormat format) {
  const FormatSpec* spec = spec_of(format);
  return spec != nullptr && spec->required && !spec->channels && spec->markers.bare.empty() &&
         !call_marks(*spec).empty();
}

Result<grammar::RuleSet> optional_calls(ToolFormat format, std::span<const RequiredTool> tools, bool parallel) {
  REQUIRE(has_optional_calls(format));
  const FormatSpec& spec = *spec_of(format);
  RuleBook book;
  std::vector<ExprId> calls;
  for (const RequiredTool& tool : tools) {
    const bool is_free = tool.input == nullptr;
    RZ_TRY(calls.emplace_back(),
           is_free ? free_call_of(*spec.required, tool, book) : call_of(*spec.required, tool, book));
  }
  const ExprId text = text_without(call_marks(spec), book);
  const grammar::RuleId root = book.named("root");
  book.define(root, book.sequence({text, book.optional(calls_of(*spec.required, calls, parallel, book))}));
  return book.take(root);
}

}  // namespace realizar::text
