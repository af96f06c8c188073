#include "grammar/schema/finite_values.h"

#include <algorithm>

#include "base/try.h"

namespace realizar::grammar {
namespace {

constexpr size_t kMaxValues = 500;
constexpr int kMaxFiniteDepth = 20;

bool add_integers(const Json& schema, Json& values) {
  const char* low_name = schema.contains("minimum") ? "minimum" : "exclusiveMinimum";
  const char* high_name = schema.contains("maximum") ? "maximum" : "exclusiveMaximum";
  if (!schema.contains(low_name) || !schema.contains(high_name)) return false;
  constexpr double kLargest = 1e15;  // up to here doubles are exact
  const auto low = schema[low_name].get<double>(), high = schema[high_name].get<double>();
  if (!(low > -kLargest && high < kLargest && high - low <= static_cast<double>(kMaxValues))) return false;
  for (auto value = static_cast<int64_t>(low) - 1; value <= static_cast<int64_t>(high) + 1; ++value) {
    values.push_back(value);
  }
  return true;
}

// null, booleans and integers between bounds. False for other types.
bool add_values_of_types(const Json& schema, Json& values) {
  if (!schema.contains("type")) return false;
  for (const Json& type : schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]})) {
    if (type == "null") {
      values.push_back(nullptr);
    } else if (type == "boolean") {
      values.insert(values.end(), {Json(true), Json(false)});
    } else if (type != "integer" || !add_integers(schema, values)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<std::optional<Json>> FiniteValues::of(const Json& full_schema, const std::string& path, int depth) {
  if (full_schema == Json(false)) return std::optional(Json::array());
  if (!full_schema.is_object() || depth > kMaxFiniteDepth) return std::optional<Json>();
  RZ_CHECK_OK(context_.check_size());
  RZ_CHECK_OK(check_keywords(full_schema, path, context_.left_out()));
  const Json schema = assertions_of(full_schema);
  if (schema.size() == 1 && schema.contains("$ref")) {
    RZ_TRY(const Json* target,
           context_.document().resolve(schema["$ref"].get<std::string>(), path, context_.left_out()));
    return of(*target, path, depth + 1);
  }
  Json candidates = Json::array();
  for (const char* keyword : {"anyOf", "oneOf"}) {
    if (!schema.contains(keyword) || schema.size() > 1) continue;
    for (const Json& option : schema[keyword]) {
      RZ_TRY(const std::optional<Json> own, of(option, path_to(path, keyword), depth + 1));
      if (!own) return std::optional<Json>();
      candidates.insert(candidates.end(), own->begin(), own->end());
    }
    return distinct(candidates);
  }
  if (schema.contains("enum") || schema.contains("const")) {
    candidates = schema.contains("enum") ? schema["enum"] : Json::array({schema["const"]});
    if (schema.contains("const"))
      std::erase_if(candidates.get_ref<Json::array_t&>(), [&](const Json& value) { return value != schema["const"]; });
  } else if (!add_values_of_types(schema, candidates)) {
    return std::optional<Json>();
  }
  Json values = Json::array();
  for (const Json& value : candidates) {
    RZ_CHECK_OK(context_.check_size());
    const auto allowed = checker_.is_allowed(value, schema, path);
    if (!allowed.ok()) return std::optional<Json>();
    if (*allowed) values.push_back(value);
  }
  return distinct(values);
}

std::optional<Json> FiniteValues::distinct(const Json& values) {
  Json out = Json::array();
  for (const Json& value : values) {
    if (out.size() <= kMaxValues && std::ranges::find(out, value) == out.end()) out.push_back(value);
  }
  return out.size() <= kMaxValues ? std::optional(out) : std::nullopt;
}

}  // namespace realizar::grammar
