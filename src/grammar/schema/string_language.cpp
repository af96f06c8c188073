#include "grammar/schema/string_language.h"

#include <algorithm>
#include <vector>

#include "base/try.h"
#include "grammar/code_points.h"
#include "grammar/schema/string_formats.h"

namespace realizar::grammar {
namespace {

constexpr int kMaxLanguageDepth = 50;

TermId texts_of_length(Terms& terms, const LengthRange& lengths) {
  return terms.repeat(terms.chars(normalized({{0, kMaxCodePoint}})), lengths.min, lengths.max);
}

}  // namespace

LengthRange lengths_of(const Json& schema) {
  return {count_of(schema, "minLength").value_or(0), count_of(schema, "maxLength").value_or(kNoMaximum)};
}

// The unescaped strings that a schema allows.
Result<TermId> StringLanguage::of(Terms& terms, const Json& full_schema, const std::string& path, bool negated,
                                  int depth) {
  if (full_schema.is_boolean()) return full_schema.get<bool>() ? terms.everything() : terms.none();
  if (depth > kMaxLanguageDepth) return limit_exceeded(path + ": the schema nests too deeply, or holds itself");
  RZ_CHECK_OK(context_.check_size());
  LeftOut nothing(false);
  RZ_CHECK_OK(check_keywords(full_schema, path, negated ? nothing : context_.left_out()));
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
  RZ_CHECK_OK(add_combined(terms, schema, path, negated, depth, parts));
  return terms.all_of(parts);
}

Status StringLanguage::add_combined(Terms& terms, const Json& schema, const std::string& path, bool negated, int depth,
                                    std::vector<TermId>& parts) {
  const auto language = [&](const char* keyword, bool other_way) {
    return of(terms, schema[keyword], path_to(path, keyword), negated || other_way, depth + 1);
  };
  for (const char* keyword : {"anyOf", "oneOf", "allOf"}) {
    if (!schema.contains(keyword)) continue;
    std::vector<TermId> options;
    for (const Json& option : schema[keyword]) {
      RZ_TRY(const TermId own, of(terms, option, path_to(path, keyword), negated, depth + 1));
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
    RZ_TRY(const Json* target, context_.document().resolve(schema["$ref"].get<std::string>(), path,
                                                           negated ? nothing : context_.left_out()));
    RZ_TRY(const TermId own, of(terms, *target, path, negated, depth + 1));
    parts.push_back(own);
  }
  return {};
}

}  // namespace realizar::grammar
