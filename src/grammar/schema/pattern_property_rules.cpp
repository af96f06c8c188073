#include "grammar/schema/pattern_property_rules.h"

#include <algorithm>

#include "base/try.h"
#include "grammar/pattern.h"
#include "grammar/schema/merge.h"
#include "grammar/schema/value_rules.h"

namespace realizar::grammar {
namespace {

constexpr size_t kMaxKeyClasses = 100;

// Keys that match the same patterns.
struct KeyClass {
  TermId keys = 0;
  Json schema;
};

// Patterns with the same schema are merged.
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

Json PatternPropertyRules::without_patterns(Json schema) {
  schema.erase("patternProperties");
  if (schema.value("additionalProperties", Json(true)) != Json(false)) schema.erase("additionalProperties");
  return schema;
}

Result<Json> PatternPropertyRules::with_named(const Json& schema, const std::string& path) {
  if (!schema.contains("patternProperties")) return schema;
  Terms terms;
  auto groups = pattern_groups(terms, schema["patternProperties"], path_to(path, "patternProperties"));
  if (!groups.ok()) {
    RZ_CHECK_OK(context_.left_out().take(groups.error()));
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
        RZ_CHECK_OK(context_.left_out().take(KeyRules::too_large(path, "patternProperties")));
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

Result<ValueExpr> PatternPropertyRules::members(const Json& schema, const std::vector<std::string>& names,
                                                const std::string& path) {
  const std::string own_path = path_to(path, "patternProperties");
  Terms terms;
  RZ_TRY(const auto groups, pattern_groups(terms, schema["patternProperties"], own_path));
  RZ_TRY(const TermId others, keys_.other_keys(terms, schema, names, path));
  std::vector<KeyClass> classes{{others, Json()}};  // null: no pattern matches
  for (const PatternGroup& group : groups) {
    std::vector<KeyClass> split;
    for (const auto& [keys, own] : classes) {
      const KeyClass halves[] = {
          {terms.all_of({keys, group.keys}), own.is_null() ? group.schema : both_of(own, group.schema)},
          {terms.without(keys, group.keys), own}};
      for (const KeyClass& half : halves) {
        const auto machine = terms.machine_of(half.keys);
        if (!machine || split.size() > kMaxKeyClasses) return KeyRules::too_large(path, "patternProperties");
        if (!machine->states.empty()) split.push_back(half);
      }
    }
    classes = std::move(split);
  }
  std::vector<ExprId> members;
  for (const auto& [keys, own] : classes) {
    const Json& of_value = own.is_null() ? schema.value("additionalProperties", Json(true)) : own;
    RZ_TRY(const ValueExpr expr,
           values_.value(of_value, own.is_null() ? path_to(path, "additionalProperties") : own_path));
    if (!expr) continue;
    const auto machine = terms.machine_of(keys);
    if (!machine) return KeyRules::too_large(path, "patternProperties");
    if (const ValueExpr key = keys_.key_of(*machine))
      members.push_back(book_.add("member", context_.with_colon(*key, *expr)));
  }
  return context_.one_of(members);
}

}  // namespace realizar::grammar
