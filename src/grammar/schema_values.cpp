// Values that "enum" and "const" list, against the keywords next to them.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/try.h"
#include "grammar/schema_compiler.h"
#include "grammar/schema_negation.h"

namespace realizar::grammar {
namespace {

std::string_view type_of_keyword(std::string_view name) {
  if (name == "pattern" || name == "format" || name.ends_with("Length")) return "string";
  if (name.ends_with("imum") || name == "multipleOf") return "number";
  if (name.find("tems") != std::string_view::npos) return "array";
  const bool is_about_keys = name.find("ropert") != std::string_view::npos || name == "required";
  return is_about_keys ? "object" : "";
}

bool has_equals(const Json& items) {
  for (auto item = items.begin(); item != items.end(); ++item) {
    if (std::find(items.begin(), item, *item) != item) return true;
  }
  return false;
}

}  // namespace

// What is easily decided is applied, and the rest refused where it would matter.
Result<bool> SchemaCompiler::is_allowed(const Json& value, const Json& schema, const std::string& path) {
  for (const auto& [name, limit] : schema.items()) {
    if (name == "enum" || name == "const") continue;
    const std::string_view about_what = type_of_keyword(name);
    if (!about_what.empty() && about_what != value.type_name()) continue;
    RZ_TRY(const bool allowed, is_allowed_by(name, value, schema, path));
    if (!allowed) return false;
  }
  return true;
}

Result<bool> SchemaCompiler::is_allowed_by(const std::string& name, const Json& value, const Json& schema,
                                           const std::string& path) {
  const Json& limit = schema[name];
  if (name == "type") {
    const Json types = limit.is_array() ? limit : Json::array({limit});
    return std::ranges::any_of(types, [&](const Json& type) { return is_of_type(value, type.get<std::string>()); });
  }
  if (name == "minimum") return value >= limit;
  if (name == "maximum") return value <= limit;
  if (name == "exclusiveMinimum") return value > limit;
  if (name == "exclusiveMaximum") return value < limit;
  if (name == "minLength") return n_code_points(value.get<std::string>()) >= count_of(schema, "minLength");
  if (name == "maxLength") return n_code_points(value.get<std::string>()) <= count_of(schema, "maxLength");
  if (name == "minItems" || name == "minProperties") return value.size() >= count_of(schema, name.c_str());
  if (name == "maxItems" || name == "maxProperties") return value.size() <= count_of(schema, name.c_str());
  if (name == "uniqueItems") return !has_equals(value);
  if (name == "required") {
    return std::ranges::all_of(limit, [&](const Json& key) { return value.contains(key.get<std::string>()); });
  }
  Result<bool> allowed = unsupported(
      fmt::format("{}: \"{}\" together with \"enum\" or \"const\" is not supported", path, name), path_to(path, name));
  if (name == "multipleOf") allowed = is_multiple(value, limit, path);
  if (name == "pattern") allowed = is_allowed_string(value.get<std::string>(), {{"pattern", limit}}, path);
  if (name == "not") {
    RZ_TRY(const bool is_not, is_excluded(value, schema, path));
    return !is_not;
  }
  return !allowed.ok() && options_.relaxed ? Result<bool>(true) : std::move(allowed);
}

Result<bool> SchemaCompiler::is_allowed_string(const std::string& text, const Json& schema, const std::string& path) {
  Terms terms;
  RZ_TRY(const TermId language, string_language(terms, schema, path));
  const auto result = terms.matches(language, text);
  if (result) return *result;
  return unsupported(path + ": \"enum\" or \"const\" together with a pattern that takes too large an automaton", path);
}

Result<bool> SchemaCompiler::is_excluded(const Json& value, const Json& schema, const std::string& path) {
  for (const Json& leaf : excluded(schema)) {
    if (excludes_value(leaf, value)) return true;
    const char* keyword = leaf.contains("multipleOf") ? "multipleOf" : "pattern";
    if (!leaf.contains(keyword) || type_of_keyword(keyword) != value.type_name()) continue;
    RZ_TRY(const bool is_it, keyword == std::string_view("pattern")
                                 ? is_allowed_string(value.get<std::string>(), {{"pattern", leaf["pattern"]}}, path)
                                 : is_multiple(value, leaf["multipleOf"], path));
    if (is_it) return true;
  }
  return false;
}

}  // namespace realizar::grammar
