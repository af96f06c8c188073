#include "grammar/schema/keywords.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

#include "base/try.h"
#include "grammar/schema/string_formats.h"

namespace realizar::grammar {
namespace {

enum class Expected {
  kSchema,
  kSchemas,
  kItems,
  kNamedSchemas,
  kNumber,
  kBound,
  kPositive,
  kCount,
  kString,
  kNames,
  kNameLists,
  kDependencies,
  kTypes,
  kArray,
  kBool,
  kAny
};

struct Keyword {
  std::string_view name;
  Expected expected;
};

constexpr Keyword kAssertions[] = {
    {"type", Expected::kTypes},
    {"enum", Expected::kArray},
    {"const", Expected::kAny},
    {"properties", Expected::kNamedSchemas},
    {"required", Expected::kNames},
    {"additionalProperties", Expected::kSchema},
    {"patternProperties", Expected::kNamedSchemas},
    {"propertyNames", Expected::kSchema},
    {"dependentRequired", Expected::kNameLists},
    {"dependentSchemas", Expected::kNamedSchemas},
    {"dependencies", Expected::kDependencies},  // draft 7, section 6.5.7
    {"minProperties", Expected::kCount},
    {"maxProperties", Expected::kCount},
    {"items", Expected::kItems},
    {"additionalItems", Expected::kSchema},
    {"prefixItems", Expected::kSchemas},
    {"minItems", Expected::kCount},
    {"maxItems", Expected::kCount},
    {"uniqueItems", Expected::kBool},
    {"contains", Expected::kSchema},
    {"minContains", Expected::kCount},
    {"maxContains", Expected::kCount},
    {"minLength", Expected::kCount},
    {"maxLength", Expected::kCount},
    {"pattern", Expected::kString},
    {"format", Expected::kString},
    {"minimum", Expected::kNumber},
    {"maximum", Expected::kNumber},
    {"exclusiveMinimum", Expected::kBound},
    {"exclusiveMaximum", Expected::kBound},
    {"multipleOf", Expected::kPositive},
    {"nullable", Expected::kBool},  // OpenAPI 3.0, section 4.7.24
    {"anyOf", Expected::kSchemas},
    {"oneOf", Expected::kSchemas},
    {"allOf", Expected::kSchemas},
    {"not", Expected::kSchema},
    {"if", Expected::kSchema},
    {"then", Expected::kSchema},
    {"else", Expected::kSchema},
    {"$ref", Expected::kString},
};

// Keywords that restrict documents but are unsupported.
constexpr std::string_view kNotBuilt[] = {"unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"};

bool is_restriction_not_built(std::string_view name, const Json& value) {
  return value != Json(true) && value != Json::object() && std::ranges::find(kNotBuilt, name) != std::end(kNotBuilt);
}

const Keyword* find_assertion(std::string_view name) {
  const auto* found = std::ranges::find(kAssertions, name, &Keyword::name);
  return found == std::end(kAssertions) ? nullptr : found;
}

bool is_name_list(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_string(); });
}
bool is_type_name(const Json& value) {
  constexpr std::string_view kTypes[] = {"null", "boolean", "object", "array", "number", "integer", "string"};
  return value.is_string() && std::ranges::find(kTypes, value.get_ref<const std::string&>()) != std::end(kTypes);
}
bool is_count(const Json& value) {
  return value.is_number_unsigned() || (value.is_number_float() && value.get<double>() >= 0 &&
                                        std::trunc(value.get<double>()) == value.get<double>());
}

bool is_dependency(const Json& value) {
  return is_schema(value) || is_name_list(value);
}

// The expected kind of value, or "" if the value matches.
std::string_view expected(Expected expected, const Json& value) {
  const auto all = [&](auto is) { return std::all_of(value.begin(), value.end(), is); };
  switch (expected) {
    case Expected::kSchema:
      return is_schema(value) ? "" : "a schema";
    case Expected::kSchemas:
      return value.is_array() && !value.empty() && all(is_schema) ? "" : "an array of schemas";
    case Expected::kItems:
      return is_schema(value) || (value.is_array() && all(is_schema)) ? "" : "a schema or an array of schemas";
    case Expected::kNamedSchemas:
      return value.is_object() && all(is_schema) ? "" : "an object of schemas";
    case Expected::kNumber:
      return value.is_number() ? "" : "a number";
    case Expected::kBound:
      return value.is_number() || value.is_boolean() ? "" : "a number";
    case Expected::kPositive:
      return value.is_number() && value.get<double>() > 0 ? "" : "a number above 0";
    case Expected::kCount:
      return is_count(value) ? "" : "a whole number from 0";
    case Expected::kString:
      return value.is_string() ? "" : "a string";
    case Expected::kNames:
      return is_name_list(value) ? "" : "an array of strings";
    case Expected::kNameLists:
      return value.is_object() && all(is_name_list) ? "" : "an object of arrays of strings";
    case Expected::kDependencies:
      return value.is_object() && all(is_dependency) ? "" : "an object of schemas and arrays of strings";
    case Expected::kTypes:
      return is_type_name(value) || (value.is_array() && !value.empty() && all(is_type_name))
                 ? ""
                 : "a type's name or an array of them";
    case Expected::kArray:
      return value.is_array() ? "" : "an array";
    case Expected::kBool:
      return value.is_boolean() ? "" : "true or false";
    case Expected::kAny:
      return "";
  }
  return "";
}

Json with_null(const Json& types) {
  Json all = types.is_array() ? types : Json::array({types});
  if (std::ranges::find(all, Json("null")) == all.end()) all.push_back("null");
  return all;
}

// Up to draft 2019-09 an array of items is today's prefixItems, and additionalItems are those after them; with other
// items they have no effect (section 9.3.1.2 there).
void name_items_as_now(Json& schema) {
  const Json more = schema.value("additionalItems", Json(true));
  schema.erase("additionalItems");
  if (!schema.contains("items") || !schema["items"].is_array()) return;
  Json first = std::move(schema["items"]);
  schema.erase("items");
  if (!first.empty()) schema["prefixItems"] = std::move(first);
  if (more != Json(true)) schema["items"] = more;
}

// Up to draft 4, and in OpenAPI 3.0, they are flags for "minimum" and "maximum".
void name_bounds_as_now(Json& schema) {
  for (const auto& [flag, bound] : {std::pair("exclusiveMinimum", "minimum"), {"exclusiveMaximum", "maximum"}}) {
    const auto found = schema.find(flag);
    if (found == schema.end() || !found->is_boolean()) continue;
    const bool is_exclusive = found->get<bool>() && schema.contains(bound);
    if (!is_exclusive) {
      schema.erase(flag);
      continue;
    }
    schema[flag] = schema[bound];
    schema.erase(bound);
  }
}

// Up to draft 7 one keyword combines two current ones.
void name_dependencies_as_now(Json& schema) {
  if (!schema.contains("dependencies")) return;
  const Json given = std::move(schema["dependencies"]);
  schema.erase("dependencies");
  for (const auto& [key, dependency] : given.items()) {
    Json& now = schema[dependency.is_array() ? "dependentRequired" : "dependentSchemas"];
    if (!now.contains(key)) {
      now[key] = dependency;
    } else if (dependency.is_array()) {
      now[key].insert(now[key].end(), dependency.begin(), dependency.end());
    } else {
      now[key] = {{"allOf", Json::array({now[key], dependency})}};
    }
  }
}

// Without "contains" its bounds have no effect.
void name_contains_bounds(Json& schema) {
  if (schema.contains("contains")) {
    schema.emplace("minContains", Json(1U));
  } else {
    schema.erase("minContains");
    schema.erase("maxContains");
  }
}

}  // namespace

bool is_schema(const Json& value) {
  return value.is_object() || value.is_boolean();
}

Status check_keywords(const Json& schema, const std::string& path, LeftOut& left_out) {
  for (const auto& [name, value] : schema.items()) {
    const Keyword* keyword = find_assertion(name);
    if (keyword == nullptr && !is_restriction_not_built(name, value)) continue;
    const std::string own_path = path_to(path, name);
    if (keyword == nullptr) {
      RZ_CHECK_OK(left_out.take(unsupported(fmt::format("{}: keyword \"{}\" is not supported", path, name), own_path)));
      continue;
    }
    const std::string_view wanted = expected(keyword->expected, value);
    if (!wanted.empty()) return invalid_argument(fmt::format("{}: \"{}\" must be {}", path, name, wanted), own_path);
  }
  if (schema.contains("prefixItems") && schema.contains("items") && schema["items"].is_array()) {
    return invalid_argument(fmt::format("{}: \"items\" must be a schema beside \"prefixItems\"", path),
                            path_to(path, "items"));
  }
  return {};
}

Json assertions_of(const Json& schema) {
  Json out = Json::object();
  for (const auto& [name, value] : schema.items()) {
    const bool says_nothing =
        (name == "uniqueItems" && value == false) || (name == "patternProperties" && value.empty());
    if (find_assertion(name) == nullptr || name == "nullable" || says_nothing) continue;
    if (name == "format" && value.is_string() && find_format(value.get_ref<const std::string&>()) == nullptr) continue;
    out[name] = value;
  }
  name_items_as_now(out);
  name_bounds_as_now(out);
  name_dependencies_as_now(out);
  name_contains_bounds(out);
  if (schema.value("nullable", Json()) != true) return out;
  if (out.contains("type")) out["type"] = with_null(out["type"]);
  const auto has = [&](const char* name) { return out.contains(name); };
  const bool is_combined = std::ranges::any_of(std::to_array<const char*>({"$ref", "allOf", "anyOf", "oneOf"}), has);
  if (out.contains("type") || !is_combined) return out;
  return {{"anyOf", Json::array({out, {{"type", "null"}}})}};
}

std::vector<const Json*> subschemas(const Json& schema) {
  std::vector<const Json*> all;
  const auto add = [&](const Json& value) {
    if (is_schema(value)) all.push_back(&value);
  };
  for (const auto& [name, value] : schema.items()) {
    const Keyword* keyword = find_assertion(name);
    const Expected expected = keyword != nullptr                         ? keyword->expected
                              : name == "$defs" || name == "definitions" ? Expected::kNamedSchemas
                                                                         : Expected::kAny;
    const bool is_one = expected == Expected::kSchema || (expected == Expected::kItems && value.is_object());
    const bool is_list = expected == Expected::kSchemas || expected == Expected::kItems;
    const bool is_map = expected == Expected::kNamedSchemas || expected == Expected::kDependencies;
    if (is_one) add(value);
    if ((is_list && value.is_array()) || (is_map && value.is_object())) std::ranges::for_each(value, add);
  }
  return all;
}

std::string path_to(const std::string& path, const std::string& member) {
  std::string escaped;
  for (const char c : member) escaped += c == '~' ? "~0" : c == '/' ? "~1" : c == '%' ? "%25" : std::string(1, c);
  return path + "/" + escaped;
}

bool is_of_type(const Json& value, const std::string& type) {
  if (type == "integer" && value.is_number_float()) return std::trunc(value.get<double>()) == value.get<double>();
  if (type == "integer") return value.is_number_integer();
  return type == value.type_name();
}

Json as_list(const Json& value) {
  return value.is_array() ? value : Json::array({value});
}

std::optional<uint64_t> count_of(const Json& schema, const char* keyword) {
  const auto found = schema.find(keyword);
  if (found == schema.end()) return std::nullopt;
  constexpr double kLargest = 2e9;
  return found->is_number_float() ? static_cast<uint64_t>(std::min(found->get<double>(), kLargest))
                                  : found->get<uint64_t>();
}

size_t n_code_points(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace realizar::grammar
