#include "text/output/required_calls.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/json_text.h"
#include "base/try.h"
#include "grammar/json_schema.h"
#include "grammar/regular.h"
#include "grammar/rule_book.h"
#include "grammar/rule_copy.h"
#include "grammar/schema/keywords.h"
#include "text/output/argument_types.h"

namespace realizar::text {
namespace {

using grammar::ExprId;
using grammar::RuleBook;
using Json = nlohmann::ordered_json;

bool is_required(const Json& parameters, const std::string& key) {
  const Json required = parameters.value("required", Json::array());
  return std::find(required.begin(), required.end(), key) != required.end();
}

Error of_tool(const RequiredTool& tool, Error error) {
  error.subject = tool.place;
  error.message = error.subject + ": " + error.message;
  return error;
}

// Adds the rules of the schema at `place` in the tool's parameters. Errors name that location.
Result<ExprId> add_schema(const RequiredTool& tool, const Json& parameters, const std::string& place, RuleBook& book) {
  auto rule = grammar::add_json_schema(book, json_text(parameters), {},
                                       {.root = place, .relaxed = !tool.is_strict, .name = tool.spec->name});
  if (rule.ok()) return rule;
  return of_tool(tool, std::move(rule).error());
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
  if (parameters.empty()) parameters = {{"properties", Json::object()}, {"additionalProperties", false}};
  parameters.emplace("type", "object");
  return add_schema(tool, parameters, "#", book);
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

// The quote or tag that ends a string, which cannot contain it.
std::string end_of_text(const ArgumentTags& tags) {
  return tags.quote.empty() ? split_marks(tags.value_close).front() : tags.quote;
}

ExprId bare_text(const ArgumentTags& tags, RuleBook& book) {
  const std::string end = end_of_text(tags);
  return text_without({&end, 1}, book);
}

// A string of the schema at `place`. If the schema is not strict and no automaton can enforce it, any string.
Result<ExprId> string_value(const ArgumentTags& tags, const RequiredTool& tool, const std::string& place,
                            RuleBook& book) {
  auto text = grammar::add_schema_text(book, json_text(tool.spec->parameters), end_of_text(tags), {},
                                       {.root = place, .relaxed = !tool.is_strict});
  const bool is_wide = !text.ok() && !tool.is_strict && text.error().code == ErrorCode::kUnsupported;
  if (!text.ok() && !is_wide) return of_tool(tool, std::move(text).error());
  return book.sequence({book.literal(tags.quote), is_wide ? bare_text(tags, book) : *text, book.literal(tags.quote)});
}

// Strings are plain text in tags, or JSON if the form uses JSON's quotes.
bool is_bare_text(const ArgumentTags& tags, const Json& parameters, const std::string& key) {
  if (tags.quote == "\"") return false;
  const bool says_type = !tags.json_key_close.empty() || !tags.quote.empty();
  return says_type ? is_string_only(parameters, key) : may_be_string(parameters, key);
}

Result<ExprId> tagged_argument(const ArgumentTags& tags, const RequiredTool& tool, const std::string& key,
                               RuleBook& book) {
  const Json& parameters = tool.spec->parameters;
  const bool is_text = is_bare_text(tags, parameters, key);
  const bool is_json = !is_text && !tags.json_key_close.empty();
  const std::string place = grammar::path_to("#/properties", key);
  RZ_TRY(const ExprId value,
         is_text ? string_value(tags, tool, place, book) : add_schema(tool, parameters, place, book));
  const ExprId open = book.literal(tags.key_open + key + (is_json ? tags.json_key_close : tags.key_close));
  return book.sequence({open, value, book.literal(tags.value_close)});
}

// Arguments in the schema's order; optional ones may be missing.
struct Argument {
  ExprId rule;
  bool is_required;
};

ExprId argument_list(std::span<const Argument> arguments, const std::string& between, RuleBook& book) {
  const ExprId separator = book.literal(between);
  ExprId first = book.literal(""), later = book.literal("");  // the rules from here on: before and after another
                                                              // argument
  for (size_t i = arguments.size(); i-- > 0;) {
    const Argument& argument = arguments[i];
    const ExprId with = book.sequence({argument.rule, later});
    first = argument.is_required ? with : book.add("arguments", book.choice(std::array{with, first}));
    const ExprId separated = book.sequence({separator, argument.rule});
    later = book.add("arguments", book.sequence({argument.is_required ? separated : book.optional(separated), later}));
  }
  return first;
}

Result<ExprId> tagged_arguments(const ArgumentTags& tags, const RequiredTool& tool, RuleBook& book) {
  if (tool.input != nullptr) {
    const bool is_json = tags.quote == "\"";
    const ExprId text = grammar::copy_rules(book, *tool.input, is_json);
    return book.sequence({book.literal(tags.key_open + input_name(tool) + tags.key_close + tags.quote), text,
                          book.literal(tags.quote + tags.value_close)});
  }
  const Json& parameters = tool.spec->parameters;
  const Json properties = parameters.value("properties", Json::object());
  std::vector<Argument> arguments;
  for (const auto& member : properties.items()) {
    const std::string& key = member.key();
    RZ_TRY(const ExprId rule, tagged_argument(tags, tool, key, book));
    arguments.push_back({book.add("argument", rule), is_required(parameters, key)});
  }
  return argument_list(arguments, tags.between, book);
}

Result<ExprId> call_of(const CallForm& form, const RequiredTool& tool, RuleBook& book) {
  RZ_TRY(const ExprId arguments, form.tags ? tagged_arguments(*form.tags, tool, book) : json_arguments(tool, book));
  const ExprId head = book.literal(form.open + tool.spec->name + form.name_end);
  return book.sequence({head, arguments, book.literal(form.close)});
}

// One or more calls, joined as in the form.
ExprId calls_of(const CallForm& form, std::span<const ExprId> calls, bool parallel, RuleBook& book) {
  const ExprId call = book.add("call", book.choice(calls));
  const ExprId another = book.sequence({book.literal(form.between), call});
  const bool may_repeat = parallel && !form.is_single;
  const ExprId more = may_repeat ? book.repeat(another, 0, grammar::kNoMaximum) : book.literal("");
  return book.sequence({book.literal(form.first), call, more, book.literal(form.last)});
}

// A call whose arguments only need to be parseable.
Result<ExprId> free_call_of(const CallForm& form, const RequiredTool& tool, RuleBook& book) {
  ExprId arguments = grammar::kNoExpr;
  if (const auto& tags = form.tags) {
    arguments = book.repeat(
        book.sequence({book.literal(tags->key_open), book.gbnf("[^<>=\"\\n]+"), book.literal(tags->key_close),
                       bare_text(*tags, book), book.literal(tags->value_close)}),
        0, grammar::kNoMaximum);
  } else {
    RZ_TRY(arguments, grammar::add_json_schema(book, R"({"type": "object"})", {}, {}));
  }
  return book.sequence(
      {book.literal(form.open + tool.spec->name + form.name_end), arguments, book.literal(form.close)});
}

std::vector<std::string> call_begins(const CallForm& form) {
  CallMarks marks = marks_of(form);
  if (!marks.call_begin.empty()) marks.openers.push_back(marks.call_begin);
  return marks.openers;
}

}  // namespace

Result<grammar::RuleSet> required_calls(const CallForm& form, std::span<const RequiredTool> tools, bool parallel) {
  RuleBook book;
  std::vector<ExprId> calls;
  for (const RequiredTool& tool : tools) {
    RZ_TRY(calls.emplace_back(), call_of(form, tool, book));
  }
  const grammar::RuleId root = book.named("root");
  book.define(root, calls_of(form, calls, parallel, book));
  return book.take(root);
}

bool has_optional_calls(const OutputFormat& format) {
  return format.calls && !format.channels && !format.calls->reads_bare && !call_begins(*format.calls).empty() &&
         format.calls->arguments != CallForm::Arguments::kLiteral;
}

Result<grammar::RuleSet> optional_calls(const CallForm& form, std::span<const RequiredTool> tools, bool parallel) {
  RuleBook book;
  std::vector<ExprId> calls;
  for (const RequiredTool& tool : tools) {
    const bool is_free = tool.input == nullptr;
    RZ_TRY(calls.emplace_back(), is_free ? free_call_of(form, tool, book) : call_of(form, tool, book));
  }
  const std::vector<std::string> marks = call_begins(form);
  const ExprId text = text_without(marks, book);
  const grammar::RuleId root = book.named("root");
  book.define(root, book.sequence({text, book.optional(calls_of(form, calls, parallel, book))}));
  return book.take(root);
}

}  // namespace realizar::text
