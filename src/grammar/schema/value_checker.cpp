#include "grammar/schema/value_checker.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/try.h"
#include "grammar/regular.h"
#include "grammar/schema/number_rules.h"

namespace realizar::grammar {
namespace {

constexpr int kMaxValueDepth = 100;

std::string_view type_of_keyword(std::string_view name) {
  constexpr std::string_view kOfArrays[] = {"items",       "prefixItems", "minItems",    "maxItems",
                                            "uniqueItems", "contains",    "minContains", "maxContains"};
  constexpr std::string_view kOfObjects[] = {"properties",    "patternProperties", "additionalProperties",
                                             "propertyNames", "required",          "dependentRequired",
                                             "minProperties", "maxProperties",     "dependentSchemas"};
  if (name == "pattern" || name == "format" || name.ends_with("Length")) return "string";
  if (name.ends_with("imum") || name == "multipleOf") return "number";
  if (std::ranges::find(kOfArrays, name) != std::end(kOfArrays)) return "array";
  return std::ranges::find(kOfObjects, name) != std::end(kOfObjects) ? "object" : "";
}

bool has_equals(const Json& items) {
  return std::set<Json>(items.begin(), items.end()).size() < items.size();
}

bool is_listed(const Json& values, const Json& value) {
  return std::ranges::find(values, value) != values.end();
}

bool has_names(const Json& value, const Json& names) {
  return std::ranges::all_of(names, [&](const Json& name) { return value.contains(name.get<std::string>()); });
}

}  // namespace

Result<bool> ValueChecker::is_allowed(const Json& value, const Json& schema, const std::string& path) {
  for (const auto& [name, limit] : schema.items()) {
    if (name == "enum" || name == "const") continue;
    auto allowed = is_allowed_by(name, value, schema, path);
    if (!allowed.ok()) {
      RZ_CHECK_OK(context_.left_out().take(allowed.error()));
    } else if (!*allowed) {
      return false;
    }
  }
  return true;
}

// Whether a value is a document of the schema.
Result<bool> ValueChecker::is_document(const Json& value, const Json& full_schema, const std::string& path) {
  if (full_schema.is_boolean()) return full_schema.get<bool>();
  if (context_.depth() >= kMaxValueDepth)
    return limit_exceeded(path + ": the schema nests too deeply, or holds itself");
  RZ_CHECK_OK(context_.check_size());
  LeftOut nothing(false);
  RZ_CHECK_OK(check_keywords(full_schema, path, nothing));
  const Json schema = assertions_of(full_schema);
  const SchemaContext::Nested nested(context_);
  Result<bool> all = true;
  for (auto keyword = schema.begin(); keyword != schema.end() && all.ok() && *all; ++keyword) {
    all = is_allowed_by(keyword.key(), value, schema, path);
  }
  return all;
}

Result<bool> ValueChecker::is_allowed_by(const std::string& name, const Json& value, const Json& schema,
                                         const std::string& path) {
  const std::string_view about_what = type_of_keyword(name);
  if (!about_what.empty() && about_what != value.type_name()) return true;
  if (about_what == "array") return is_allowed_array(name, value, schema, path);
  if (about_what == "object") return is_allowed_object(name, value, schema, path);
  const Json& limit = schema[name];
  if (name == "type") {
    return std::ranges::any_of(as_list(limit),
                               [&](const Json& type) { return is_of_type(value, type.get<std::string>()); });
  }
  if (name == "enum") return is_listed(limit, value);
  if (name == "const") return value == limit;
  if (name == "minimum") return value >= limit;
  if (name == "maximum") return value <= limit;
  if (name == "exclusiveMinimum") return value > limit;
  if (name == "exclusiveMaximum") return value < limit;
  if (name == "minLength") return n_code_points(value.get<std::string>()) >= count_of(schema, "minLength");
  if (name == "maxLength") return n_code_points(value.get<std::string>()) <= count_of(schema, "maxLength");
  if (name == "multipleOf") return is_multiple(value, limit, path);
  if (name == "pattern") return is_allowed_string(value.get<std::string>(), {{"pattern", limit}}, path);
  if (name == "format") return has_format(value.get<std::string>(), limit, path);
  return is_allowed_by_schemas(name, value, schema, path);
}

Result<bool> ValueChecker::is_allowed_array(const std::string& name, const Json& value, const Json& schema,
                                            const std::string& path) {
  const Json& limit = schema[name];
  if (name == "minItems") return value.size() >= count_of(schema, "minItems");
  if (name == "maxItems") return value.size() <= count_of(schema, "maxItems");
  if (name == "uniqueItems") return !has_equals(value);
  const std::string own_path = path_to(path, name);
  if (name == "prefixItems") {
    for (size_t i = 0; i < std::min(limit.size(), value.size()); ++i) {
      RZ_TRY(const bool is_it, is_document(value[i], limit[i], path_to(own_path, std::to_string(i))));
      if (!is_it) return false;
    }
  }
  if (name == "items") {
    const size_t n_before = schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
    for (size_t i = n_before; i < value.size(); ++i) {
      RZ_TRY(const bool is_it, is_document(value[i], limit, own_path));
      if (!is_it) return false;
    }
  }
  if (name == "contains") {
    uint64_t n = 0;
    for (const Json& item : value) {
      RZ_TRY(const bool is_it, is_document(item, limit, own_path));
      n += is_it ? 1 : 0;
    }
    return n >= count_of(schema, "minContains") && n <= count_of(schema, "maxContains").value_or(kNoMaximum);
  }
  return true;
}

Result<bool> ValueChecker::is_allowed_object(const std::string& name, const Json& value, const Json& schema,
                                             const std::string& path) {
  const Json& limit = schema[name];
  if (name == "minProperties") return value.size() >= count_of(schema, "minProperties");
  if (name == "maxProperties") return value.size() <= count_of(schema, "maxProperties");
  if (name == "required") return has_names(value, limit);
  const std::string own_path = path_to(path, name);
  for (const auto& [key, member] : value.items()) {
    Result<bool> is_it = true;
    if (name == "properties" && limit.contains(key)) is_it = is_document(member, limit[key], path_to(own_path, key));
    if (name == "propertyNames") is_it = is_document(Json(key), limit, own_path);
    if (name == "dependentRequired" && limit.contains(key)) is_it = has_names(value, limit[key]);
    if (name == "dependentSchemas" && limit.contains(key)) is_it = is_document(value, limit[key], own_path);
    if (name == "patternProperties") is_it = keeps_to_patterns(key, member, limit, own_path);
    if (name == "additionalProperties") {
      is_it = is_named(key, schema, path);
      if (is_it.ok() && !*is_it) is_it = is_document(member, limit, own_path);
    }
    if (!is_it.ok() || !*is_it) return is_it;
  }
  return true;
}

Result<bool> ValueChecker::keeps_to_patterns(const std::string& key, const Json& member, const Json& patterns,
                                             const std::string& path) {
  for (const auto& [pattern, schema] : patterns.items()) {
    RZ_TRY(const bool is_found, is_allowed_string(key, {{"pattern", pattern}}, path));
    if (!is_found) continue;
    RZ_TRY(const bool is_it, is_document(member, schema, path));
    if (!is_it) return false;
  }
  return true;
}

// Whether "properties" or a pattern covers the key.
Result<bool> ValueChecker::is_named(const std::string& key, const Json& schema, const std::string& path) {
  if (schema.contains("properties") && schema["properties"].contains(key)) return true;
  if (!schema.contains("patternProperties")) return false;
  for (const auto& [pattern, property] : schema["patternProperties"].items()) {
    RZ_TRY(const bool is_found, is_allowed_string(key, {{"pattern", pattern}}, path));
    if (is_found) return true;
  }
  return false;
}

Result<bool> ValueChecker::is_allowed_by_schemas(const std::string& name, const Json& value, const Json& schema,
                                                 const std::string& path) {
  const Json& limit = schema[name];
  const std::string own_path = path_to(path, name);
  if (name == "not") {
    RZ_TRY(const bool is_it, is_document(value, limit, own_path));
    return !is_it;
  }
  if (name == "$ref") {
    LeftOut nothing(false);
    RZ_TRY(const Json* target, context_.document().resolve(limit.get<std::string>(), path, nothing));
    return is_document(value, *target, path);
  }
  if (name == "if") {
    RZ_TRY(const bool holds, is_document(value, limit, own_path));
    const char* branch = holds ? "then" : "else";
    return schema.contains(branch) ? is_document(value, schema[branch], path_to(path, branch)) : true;
  }
  if (name != "allOf" && name != "anyOf" && name != "oneOf") return true;
  size_t n = 0;
  for (const Json& part : limit) {
    RZ_TRY(const bool is_it, is_document(value, part, own_path));
    n += is_it ? 1 : 0;
  }
  return name == "allOf" ? n == limit.size() : name == "anyOf" ? n > 0 : n == 1;
}

// Formats are narrower here than in the specification, so a text that does not match may still be valid.
Result<bool> ValueChecker::has_format(const std::string& text, const Json& format, const std::string& path) {
  RZ_TRY(const bool is_it, is_allowed_string(text, {{"format", format}}, path));
  if (is_it) return true;
  return unsupported(path + ": \"format\" together with \"enum\" or \"const\" is not supported",
                     path_to(path, "format"));
}

Result<bool> ValueChecker::is_allowed_string(const std::string& text, const Json& schema, const std::string& path) {
  Terms terms;
  RZ_TRY(const TermId language, languages_.of(terms, schema, path));
  const auto result = terms.matches(language, text);
  if (result) return *result;
  return unsupported(path + ": \"enum\" or \"const\" together with a pattern that takes too large an automaton", path);
}

}  // namespace realizar::grammar
