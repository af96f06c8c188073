#include "grammar/schema/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/try.h"
#include "grammar/schema/contradictions.h"
#include "grammar/schema/multiples.h"

namespace realizar::grammar {
namespace {

constexpr size_t kMaxCombinations = 256, kMaxPairs = 10'000;

const Json& member_or(const Json& schema, const char* name, const Json& otherwise) {
  const auto found = schema.find(name);
  return found == schema.end() ? otherwise : *found;
}
const Json kTrue = true;
const Json kNoMembers = Json::object();
const Json kNoItems = Json::array();

Json common_types(const Json& a, const Json& b) {
  Json out = Json::array();
  const Json list_a = as_list(a), list_b = as_list(b);
  const auto has = [](const Json& list, const char* type) { return std::ranges::find(list, Json(type)) != list.end(); };
  for (const char* type : {"null", "boolean", "object", "array", "string", "number", "integer"}) {
    const bool is_integer = std::string_view(type) == "integer";
    const bool in_a = has(list_a, type) || (is_integer && has(list_a, "number"));
    const bool in_b = has(list_b, type) || (is_integer && has(list_b, "number"));
    if (in_a && in_b) out.push_back(type);
  }
  return out;
}

Json common_values(const Json& a, const Json& b) {
  Json out = Json::array();
  for (const Json& value : a) {
    if (std::ranges::find(b, value) != b.end()) out.push_back(value);
  }
  return out;
}

// All combinations of both schemas' alternatives, except obvious contradictions with `base`.
Result<Json> combinations(const Json& a, const Json& b, const Json& base, const std::string& path, LeftOut& left_out) {
  Json out = Json::array();
  bool is_too_large = a.size() * b.size() > kMaxPairs;
  for (size_t i = 0; i < a.size() && !is_too_large; ++i) {
    for (const Json& y : b) {
      Json both = both_of(a[i], y);
      if (!contradict(base, both)) out.push_back(std::move(both));
      is_too_large = is_too_large || out.size() > kMaxCombinations;
      if (is_too_large) break;
    }
  }
  if (!is_too_large) return out.empty() ? Json::array({false}) : out;
  RZ_CHECK_OK(left_out.take(
      unsupported(fmt::format("{}: more than {} combinations of alternatives", path, kMaxCombinations), path)));
  return a;
}

// A pattern that matches where both do.
Json both_patterns(const Json& a, const Json& b) {
  const auto found = [](const Json& pattern) { return "(?=[^]*(?:" + pattern.get<std::string>() + "))"; };
  return "^" + found(a) + found(b);
}

std::optional<Json> both_multiples(const Json& a, const Json& b) {
  const auto x = decimal_of(a.dump()), y = decimal_of(b.dump());
  const auto both = x && y ? common_multiple(*x, *y) : std::nullopt;
  if (!both) return std::nullopt;
  return Json::parse(both->whole + (both->fraction.empty() ? "" : "." + both->fraction));
}

Json both_lists(Json a, const Json& b) {
  for (const Json& item : b) {
    if (std::ranges::find(a, item) == a.end()) a.push_back(item);
  }
  return a;
}

std::string escaped_for_pattern(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\^$.*+?()[]{}|/").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// A pattern for the keys subject to "additionalProperties".
std::string pattern_of_other_keys(const Json& schema) {
  std::string names, patterns;
  for (const auto& [name, property] : member_or(schema, "properties", kNoMembers).items()) {
    names += (names.empty() ? "" : "|") + escaped_for_pattern(name);
  }
  for (const auto& [pattern, property] : member_or(schema, "patternProperties", kNoMembers).items()) {
    patterns += "(?![^]*(?:" + pattern + "))";
  }
  return "^" + (member_or(schema, "properties", kNoMembers).empty() ? "" : "(?!(?:" + names + ")$)") + patterns;
}

// The schema's "patternProperties" including its "additionalProperties".
Json patterns_of_all_keys(const Json& schema) {
  Json patterns = member_or(schema, "patternProperties", kNoMembers);
  const Json& more = member_or(schema, "additionalProperties", kTrue);
  if (more == kTrue) return patterns;
  Json& own = patterns.emplace(pattern_of_other_keys(schema), Json(true)).first.value();
  own = both_of(own, more);
  return patterns;
}

// Merges objects with patterns: each schema applies to its own keys.
void merge_patterns(const Json& a, const Json& b, Json& out) {
  Json properties = member_or(a, "properties", kNoMembers);
  for (const auto& [name, schema] : member_or(b, "properties", kNoMembers).items()) {
    Json& own = properties.emplace(name, Json(true)).first.value();
    own = both_of(own, schema);
  }
  Json patterns = patterns_of_all_keys(a);
  const Json others = patterns_of_all_keys(b);
  for (const auto& [pattern, schema] : others.items()) {
    Json& own = patterns.emplace(pattern, Json(true)).first.value();
    own = both_of(own, schema);
  }
  if (!properties.empty()) out["properties"] = properties;
  out["patternProperties"] = patterns;
  out.erase("additionalProperties");
}

void merge_properties(const Json& a, const Json& b, Json& out) {
  if (a.contains("patternProperties") || b.contains("patternProperties")) return merge_patterns(a, b, out);
  const Json& own = member_or(a, "properties", kNoMembers);
  const Json& other = member_or(b, "properties", kNoMembers);
  const Json& own_more = member_or(a, "additionalProperties", kTrue);
  const Json& other_more = member_or(b, "additionalProperties", kTrue);
  Json properties = Json::object();
  for (const auto& [name, schema] : own.items())
    properties[name] = both_of(schema, member_or(other, name.c_str(), other_more));
  for (const auto& [name, schema] : other.items()) {
    if (!own.contains(name)) properties[name] = both_of(schema, own_more);
  }
  if (!properties.empty()) out["properties"] = properties;
  const Json more = both_of(own_more, other_more);
  if (more != kTrue || a.contains("additionalProperties") || b.contains("additionalProperties")) {
    out["additionalProperties"] = more;
  }
}

void merge_items(const Json& a, const Json& b, Json& out) {
  const Json& own = member_or(a, "prefixItems", kNoItems);
  const Json& other = member_or(b, "prefixItems", kNoItems);
  const Json& own_more = member_or(a, "items", kTrue);
  const Json& other_more = member_or(b, "items", kTrue);
  Json prefix = Json::array();
  for (size_t i = 0; i < std::max(own.size(), other.size()); ++i) {
    prefix.push_back(both_of(i < own.size() ? own[i] : own_more, i < other.size() ? other[i] : other_more));
  }
  if (!prefix.empty()) out["prefixItems"] = prefix;
  const Json more = both_of(own_more, other_more);
  if (more != kTrue) out["items"] = more;
}

bool is_lower_bound(const std::string& name) {
  return name == "minimum" || name == "exclusiveMinimum" || name == "minLength" || name == "minItems" ||
         name == "minProperties" || name == "minContains";
}
bool is_upper_bound(const std::string& name) {
  return name == "maximum" || name == "exclusiveMaximum" || name == "maxLength" || name == "maxItems" ||
         name == "maxProperties" || name == "maxContains";
}

// Merges a keyword of both; `base` is the rest of both schemas.
Result<Json> merge_values(const std::string& name, const Json& a, const Json& b, const Json& base,
                          const std::string& path, LeftOut& left_out) {
  if (a == b) return a;
  if (name == "type") return common_types(a, b);
  if (name == "enum") return common_values(a, b);
  if (is_lower_bound(name)) return std::max(a, b);
  if (is_upper_bound(name)) return std::min(a, b);
  if (name == "anyOf" || name == "oneOf") return combinations(a, b, base, path_to(path, name), left_out);
  if (name == "required") return both_lists(a, b);
  if (name == "not") return Json{{"anyOf", both_lists(a["anyOf"], b["anyOf"])}};
  if (name == "propertyNames") return both_of(a, b);
  if (name == "pattern") return both_patterns(a, b);
  if (name == "multipleOf") {
    if (const auto both = both_multiples(a, b)) return *both;
  }
  RZ_CHECK_OK(left_out.take(unsupported(
      fmt::format("{}: two different values of \"{}\" cannot be combined", path, name), path_to(path, name))));
  return a;
}

bool is_merged_with_others(const std::string& name) {
  return name == "properties" || name == "patternProperties" || name == "additionalProperties" || name == "items" ||
         name == "prefixItems";
}

// Without annotations; const becomes an enum of one, $ref a part of allOf.
Json prepared(const Json& schema) {
  Json out = assertions_of(schema);
  if (const auto found = out.find("const"); found != out.end()) {
    const Json values = Json::array({*found});
    out["enum"] = out.contains("enum") ? common_values(out["enum"], values) : values;
    out.erase("const");
  }
  if (const auto found = out.find("$ref"); found != out.end()) {
    Json parts = member_or(out, "allOf", kNoItems);
    parts.insert(parts.begin(), Json{{"$ref", *found}});
    out["allOf"] = parts;
    out.erase("$ref");
  }
  return out;
}

// Both schemas without their alternatives.
Json without_alternatives(Json a, Json b) {
  for (Json* schema : {&a, &b}) {
    for (const char* name : {"anyOf", "oneOf"}) schema->erase(name);
  }
  return both_of(a, b);
}

}  // namespace

Json both_of(const Json& a, const Json& b) {
  if (a == kTrue || a == b) return b;
  if (b == kTrue) return a;
  if (a == Json(false) || b == Json(false)) return false;
  if (a.is_object() && a.empty()) return b;
  if (b.is_object() && b.empty()) return a;
  return Json{{"allOf", Json::array({a, b})}};
}

Result<Json> merge_schemas(const Json& a, const Json& b, const std::string& path, LeftOut& left_out) {
  if (a.is_boolean()) return a.get<bool>() ? b : a;
  if (b.is_boolean()) return b.get<bool>() ? a : b;
  const Json left = prepared(a), right = prepared(b);
  Json out = left;
  for (const auto& [name, value] : right.items()) {
    if (is_merged_with_others(name)) continue;
    const auto own = left.find(name);
    if (name == "allOf" && own != left.end()) {
      for (const Json& part : value) out["allOf"].push_back(part);
      continue;
    }
    if (own == left.end()) {
      out[name] = value;
      continue;
    }
    RZ_TRY(out[name], merge_values(name, *own, value, without_alternatives(left, right), path, left_out));
    if ((name == "type" || name == "enum") && out[name].empty()) return Json(false);
  }
  merge_properties(left, right, out);
  merge_items(left, right, out);
  return out;
}

}  // namespace realizar::grammar
