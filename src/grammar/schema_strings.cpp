// Strings: as rules where keywords stand alone, as automata where several have to hold at once.
#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "grammar/code_points.h"
#include "grammar/schema_compiler.h"
#include "grammar/schema_negation.h"
#include "grammar/string_formats.h"

namespace realizar::grammar {
namespace {

constexpr int kMaxLanguageDepth = 50;

LengthRange lengths_of(const Json& schema) {
  return {count_of(schema, "minLength").value_or(0), count_of(schema, "maxLength").value_or(kNoMaximum)};
}

bool is_about_strings(const Json& leaf) {
  if (leaf.contains("pattern")) return true;
  return leaf.contains("enum") && std::ranges::any_of(leaf["enum"], [](const Json& v) { return v.is_string(); });
}

TermId texts_of_length(Terms& terms, const LengthRange& lengths) {
  return terms.repeat(terms.chars(normalized({{0, kMaxCodePoint}})), lengths.min, lengths.max);
}

}  // namespace

Result<ValueExpr> SchemaCompiler::string(const Json& schema, const std::string& path) {
  const LengthRange wanted = lengths_of(schema);
  if (wanted.min > wanted.max) return ValueExpr();
  auto exact = inside_string(schema, path);
  const bool is_limit = !exact.ok() && exact.error().subject == kLimitSubject;
  if (!exact.ok() && left_out_.is_relaxed() && !is_limit) exact = relaxed_inside_string(schema, path);
  RZ_TRY(ValueExpr inside, std::move(exact));
  // Formats are narrower here than their definitions, so that no string at all may be this room's fault.
  if (!inside && left_out_.is_relaxed() && schema.contains("format")) {
    RZ_TRY(inside, relaxed_inside_string(schema, path));
  }
  if (!inside) return ValueExpr();
  const ExprId quote = literal("\"");
  const ExprId text = book_.sequence({quote, *inside, quote});
  return ValueExpr(book_.add(hint_of(path), text));
}

Result<ValueExpr> SchemaCompiler::inside_string(const Json& schema, const std::string& path) {
  const auto pattern = schema.find("pattern");
  const auto format = schema.find("format");
  const LengthRange wanted = lengths_of(schema);
  if (std::ranges::any_of(excluded(schema), is_about_strings)) return machine_of_strings(schema, path);
  if (pattern != schema.end() && format != schema.end()) return machine_of_strings(schema, path);
  if (pattern != schema.end()) {
    return pattern_in_string(book_, pattern->get<std::string>(), wanted, path_to(path, "pattern"));
  }
  if (format != schema.end()) {
    const StringFormat& known = *find_format(format->get_ref<const std::string&>());
    const bool is_long_enough = known.lengths.min >= wanted.min;
    if (is_long_enough && known.lengths.max <= wanted.max) return ValueExpr(book_.gbnf(known.gbnf));
    for (const auto& part : known.parts) {
      if (is_long_enough && !part.gbnf.empty() && part.length <= wanted.max) return ValueExpr(book_.gbnf(part.gbnf));
    }
    return machine_of_strings(schema, path);
  }
  return ValueExpr(book_.repeat(book_.string_char(), wanted.min, wanted.max));
}

Result<ValueExpr> SchemaCompiler::machine_of_strings(const Json& schema, const std::string& path) {
  Terms terms;
  RZ_TRY(const TermId language, string_language(terms, schema, path));
  const auto machine = terms.machine_of(language);
  if (!machine) {
    const char* keyword = schema.contains("pattern") ? "pattern" : schema.contains("format") ? "format" : "not";
    return unsupported(
        fmt::format("{}: \"{}\" and what else holds for the string take too large an automaton", path, keyword),
        path_to(path, keyword));
  }
  return machine->states.empty() ? ValueExpr() : ValueExpr(expr_of(book_, *machine, true));
}

Result<ExprId> SchemaCompiler::text_without(std::string_view mark) {
  const std::string& path = root_ref_;
  RZ_TRY(const Json* schema, document_.resolve(path, path, left_out_));
  Terms terms;
  RZ_TRY(const TermId language, string_language(terms, *schema, path));
  const TermId with_mark = terms.sequence(terms.everything(), terms.sequence(terms.literal(mark), terms.everything()));
  const auto machine = terms.machine_of(terms.without(language, with_mark));
  if (!machine) return unsupported(path + ": what holds for the string takes too large an automaton", path);
  if (machine->states.empty())
    return unsupported(fmt::format("{}: no string without \"{}\" will do", path, mark), path);
  return expr_of(book_, *machine, false);
}

// Where keywords cannot be held together, the pattern is kept, else the format, with the lengths if that can be.
Result<ValueExpr> SchemaCompiler::relaxed_inside_string(const Json& schema, const std::string& path) {
  using Keywords = std::vector<const char*>;
  const auto part_of = [&](const Keywords& keywords) {
    Json part = Json::object();
    for (const char* keyword : keywords) {
      if (schema.contains(keyword)) part[keyword] = schema[keyword];
    }
    return part;
  };
  const Json whole = part_of({"pattern", "format", "minLength", "maxLength", "not"});
  for (const Keywords& kept :
       {Keywords{"pattern", "minLength", "maxLength"}, Keywords{"pattern"},
        Keywords{"format", "minLength", "maxLength"}, Keywords{"format"}, Keywords{"minLength", "maxLength"}}) {
    const Json part = part_of(kept);
    if (part == whole || (kept[0] != std::string_view("minLength") && !part.contains(kept[0]))) continue;
    auto alone = inside_string(part, path);
    if (!alone.ok() || !*alone) continue;
    for (const auto& [keyword, value] : whole.items()) {
      if (!part.contains(keyword)) left_out_.note(path_to(path, keyword));
    }
    return alone;
  }
  return ValueExpr();
}

// The strings, unescaped, that a schema allows.
Result<TermId> SchemaCompiler::string_language(Terms& terms, const Json& full_schema, const std::string& path,
                                               bool negated, int depth) {
  if (full_schema.is_boolean()) return full_schema.get<bool>() ? terms.everything() : terms.none();
  if (depth > kMaxLanguageDepth) return limit_exceeded(path + ": the schema nests too deeply, or holds itself");
  RZ_CHECK_OK(check_size());
  LeftOut nothing(false);
  RZ_CHECK_OK(check_keywords(full_schema, path, negated ? nothing : left_out_));
  const Json schema = assertions_of(full_schema);
  std::vector<TermId> parts{texts_of_length(terms, lengths_of(schema))};
  if (const auto type = schema.find("type"); type != schema.end()) {
    const bool has_string =
        type->is_array() ? std::ranges::find(*type, Json("string")) != type->end() : *type == Json("string");
    if (!has_string) return terms.none();
  }
  for (const char* keyword : {"enum", "const"}) {
    if (!schema.contains(keyword)) continue;
    const Json& given = schema[keyword];
    std::vector<TermId> values;
    for (const Json& value : keyword == std::string_view("enum") ? given : Json::array({given})) {
      if (value.is_string()) values.push_back(terms.literal(value.get_ref<const std::string&>()));
    }
    parts.push_back(terms.any_of(values));
  }
  if (const auto pattern = schema.find("pattern"); pattern != schema.end()) {
    RZ_TRY(const TermId found, texts_with_pattern(terms, pattern->get<std::string>(), path_to(path, "pattern")));
    parts.push_back(found);
  }
  if (const auto format = schema.find("format"); format != schema.end()) {
    if (negated) {
      return unsupported(path + ": \"format\" inside \"not\" or \"if\" is not supported", path_to(path, "format"));
    }
    parts.push_back(terms.of_expr(book_, book_.gbnf(find_format(format->get_ref<const std::string&>())->gbnf)));
  }
  RZ_CHECK_OK(add_combined_languages(terms, schema, path, negated, depth, parts));
  return terms.all_of(parts);
}

Status SchemaCompiler::add_combined_languages(Terms& terms, const Json& schema, const std::string& path, bool negated,
                                              int depth, std::vector<TermId>& parts) {
  const auto language = [&](const char* keyword, bool other_way) {
    return string_language(terms, schema[keyword], path_to(path, keyword), negated || other_way, depth + 1);
  };
  for (const char* keyword : {"anyOf", "oneOf", "allOf"}) {
    if (!schema.contains(keyword)) continue;
    std::vector<TermId> options;
    for (const Json& option : schema[keyword]) {
      RZ_TRY(const TermId own, string_language(terms, option, path_to(path, keyword), negated, depth + 1));
      options.push_back(own);
    }
    parts.push_back(keyword == std::string_view("allOf") ? terms.all_of(options) : terms.any_of(options));
  }
  if (schema.contains("not")) {
    RZ_TRY(const TermId own, language("not", true));
    parts.push_back(terms.complement(own));
  }
  if (schema.contains("if") && (schema.contains("then") || schema.contains("else"))) {
    RZ_TRY(const TermId condition, language("if", true));
    TermId then = terms.everything(), otherwise = terms.everything();
    if (schema.contains("then")) {
      RZ_TRY(then, language("then", false));
    }
    if (schema.contains("else")) {
      RZ_TRY(otherwise, language("else", false));
    }
    parts.push_back(
        terms.any_of({terms.all_of({condition, then}), terms.all_of({terms.complement(condition), otherwise})}));
  }
  if (schema.contains("$ref")) {
    LeftOut nothing(false);
    RZ_TRY(const Json* target,
           document_.resolve(schema["$ref"].get<std::string>(), path, negated ? nothing : left_out_));
    RZ_TRY(const TermId own, string_language(terms, *target, path, negated, depth + 1));
    parts.push_back(own);
  }
  return {};
}

}  // namespace realizar::grammar
