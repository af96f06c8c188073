// patternProperties: which of them a key's value keeps to.
#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "grammar/schema_compiler.h"
#include "grammar/schema_merge.h"

namespace realizar::grammar {
namespace {

constexpr size_t kMaxKeyClasses = 100;

// Keys for which the same patterns hold.
struct KeyClass {
  TermId keys = 0;
  Json schema;
};

// Patterns with one schema are one.
struct PatternGroup {
  TermId keys = 0;
  Json schema;
};

Result<std::vector<PatternGroup>> pattern_groups(Terms& terms, const Json& patterns, const std::string& path) {
  std::vector<PatternGroup> groups;
  for (const auto& [pattern, schema] : patterns.items()) {
    RZ_TRY(const TermId keys, texts_with_pattern(terms, pattern, path_to(path, pattern)));
    const auto same = std::ranges::find(groups, schema, &PatternGroup::schema);
    if (same == groups.end()) {
      groups.push_back({keys, schema});
    } else {
      same->keys = terms.any_of({same->keys, keys});
    }
  }
  return groups;
}

}  // namespace

// Without the patterns nobody knows which keys "additionalProperties" is about, except where it allows no others.
Json SchemaCompiler::without_patterns(Json schema) {
  schema.erase("patternProperties");
  if (schema.value("additionalProperties", Json(true)) != Json(false)) schema.erase("additionalProperties");
  return schema;
}

// The schema in which every name has what holds for it in "properties", that of the patterns among it. The patterns
// that are left hold for other keys.
Result<Json> SchemaCompiler::with_named_patterns(const Json& schema, const std::string& path) {
  if (!schema.contains("patternProperties")) return schema;
  Terms terms;
  auto groups = pattern_groups(terms, schema["patternProperties"], path_to(path, "patternProperties"));
  if (!groups.ok()) {
    RZ_CHECK_OK(left_out_.take(groups.error()));
    return without_patterns(schema);
  }
  const Json more = schema.value("additionalProperties", Json(true));
  Json out = schema, properties = schema.value("properties", Json::object());
  const Json named = properties;
  for (const Json& name : schema.value("required", Json::array()))
    properties.emplace(name.get<std::string>(), Json(true));
  for (const auto& [name, property] : properties.items()) {
    bool is_other = !named.contains(name);
    for (const PatternGroup& group : *groups) {
      const auto holds = terms.matches(group.keys, name);
      if (!holds) {
        RZ_CHECK_OK(left_out_.take(keys_too_large(path, "patternProperties")));
        return without_patterns(schema);
      }
      if (*holds) property = both_of(property, group.schema);
      is_other = is_other && !*holds;
    }
    if (is_other) property = more;
  }
  if (!properties.empty()) out["properties"] = properties;
  return out;
}

// A member with another name, whose value keeps to what holds for its key.
Result<ValueExpr> SchemaCompiler::members_by_pattern(const Json& schema, const std::vector<std::string>& names,
                                                     const std::string& path) {
  const std::string own_path = path_to(path, "patternProperties");
  Terms terms;
  RZ_TRY(const auto groups, pattern_groups(terms, schema["patternProperties"], own_path));
  RZ_TRY(const TermId others, other_keys(terms, schema, names, path));
  std::vector<KeyClass> classes{{others, Json()}};  // null: no pattern holds
  for (const PatternGroup& group : groups) {
    std::vector<KeyClass> split;
    for (const auto& [keys, own] : classes) {
      const KeyClass halves[] = {
          {terms.all_of({keys, group.keys}), own.is_null() ? group.schema : both_of(own, group.schema)},
          {terms.without(keys, group.keys), own}};
      for (const KeyClass& half : halves) {
        const auto machine = terms.machine_of(half.keys);
        if (!machine || split.size() > kMaxKeyClasses) return keys_too_large(path, "patternProperties");
        if (!machine->states.empty()) split.push_back(half);
      }
    }
    classes = std::move(split);
  }
  std::vector<ExprId> members;
  for (const auto& [keys, own] : classes) {
    const Json& of_value = own.is_null() ? schema.value("additionalProperties", Json(true)) : own;
    RZ_TRY(const ValueExpr expr, value(of_value, own.is_null() ? path_to(path, "additionalProperties") : own_path));
    if (!expr) continue;
    const auto machine = terms.machine_of(keys);
    if (!machine) return keys_too_large(path, "patternProperties");
    if (const ValueExpr key = key_of(*machine)) members.push_back(book_.add("member", with_colon(*key, *expr)));
  }
  return one_of(members);
}

}  // namespace realizar::grammar
