#include "grammar/schema/value_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "grammar/schema/contradictions.h"
#include "grammar/schema/merge.h"
#include "grammar/schema/negation.h"
#include "grammar/schema/one_of.h"

namespace realizar::grammar {
namespace {

constexpr int kMaxDepth = 200;
constexpr size_t kMaxMerged = 2000, kMaxMergedParts = 1000;

Json without(Json schema, const char* keyword) {
  schema.erase(keyword);
  return schema;
}

}  // namespace

ValueRules::ValueRules(SchemaContext& context, SchemaReferences& references)
    : context_(context),
      book_(context.book()),
      references_(references),
      languages_(context),
      checker_(context, languages_),
      finite_values_(context, checker_),
      numbers_(context),
      strings_(context, languages_),
      arrays_(context, *this, finite_values_),
      objects_(context, *this, languages_, finite_values_) {}

Result<ValueExpr> ValueRules::value(const Json& schema, const std::string& path) {
  RZ_CHECK_OK(context_.check_size());
  if (schema.is_boolean()) return schema.get<bool>() ? ValueExpr(book_.shared("value")) : ValueExpr();
  if (context_.depth() >= kMaxDepth)
    return limit_exceeded(fmt::format("{}: the schema nests deeper than {}", path, kMaxDepth));
  const SchemaContext::Nested nested(context_);
  return object_value(schema, path);
}

Result<ValueExpr> ValueRules::object_value(const Json& full_schema, const std::string& path) {
  RZ_CHECK_OK(check_keywords(full_schema, path, context_.left_out()));
  RZ_TRY(const Json schema, expanded(assertions_of(full_schema), path, context_.document(), context_.left_out()));
  if (schema.empty()) return ValueExpr(book_.shared("value"));
  const bool is_single = schema.size() == 1;
  if (is_single && schema.contains("$ref")) {
    return reference(schema["$ref"].get<std::string>(), path);
  }
  if (is_single && schema.contains("allOf") && schema["allOf"].size() == 1) {
    return value(schema["allOf"][0], path_to(path, "allOf") + "/0");
  }
  if (schema.contains("$ref") || schema.contains("allOf")) return flattened(schema, path);
  for (const char* keyword : {"anyOf", "oneOf"}) {
    if (schema.contains(keyword)) return alternatives(schema, keyword, path);
  }
  if (schema.contains("enum") || schema.contains("const")) return listed_values(schema, path);
  return typed_value(schema, path);
}

Result<ValueExpr> ValueRules::reference(const std::string& ref, const std::string& path) {
  RZ_TRY(const Json* target, context_.document().resolve(ref, path, context_.left_out()));
  if (target->is_boolean()) return value(*target, path);
  return ValueExpr(book_.call(references_.rule_of(ref)));
}

// Merges all parts of allOf and $ref into one schema.
Result<ValueExpr> ValueRules::flattened(const Json& schema, const std::string& path) {
  RZ_TRY(Json merged,
         merge_schemas(schema, Json::object(), path, context_.left_out()));  // $ref becomes a part of allOf
  size_t n_parts = 0;
  while (merged.is_object() && merged.contains("allOf")) {
    const Json parts = merged["allOf"];
    merged.erase("allOf");
    for (const Json& part : parts) {
      if (++n_parts > kMaxMergedParts) {
        return invalid_argument(path + ": \"allOf\" or \"$ref\" holds itself, or too many parts", path);
      }
      const Json* target = &part;
      if (part.is_object() && part.size() == 1 && part.contains("$ref") && part["$ref"].is_string()) {
        RZ_TRY(target, context_.document().resolve(part["$ref"].get<std::string>(), path, context_.left_out()));
      }
      RZ_CHECK_OK(context_.check_size());
      Json own = *target;
      if (own.is_object()) {
        RZ_CHECK_OK(check_keywords(own, path_to(path, "allOf"), context_.left_out()));
        RZ_TRY(own, expanded(assertions_of(own), path_to(path, "allOf"), context_.document(), context_.left_out()));
      }
      RZ_TRY(merged, merge_schemas(merged, own, path, context_.left_out()));
      drop_contradictions(merged);
    }
  }
  return merged_value(merged, path);
}

// Merging recursive schemas may continue forever, but yields only finitely many different schemas.
Result<ValueExpr> ValueRules::merged_value(const Json& merged, const std::string& path) {
  if (merged.is_boolean() || merged.empty()) return value(merged, path);
  const std::string text = merged.dump();
  const auto [found, is_new] = merged_.try_emplace(text);
  if (!is_new) {
    found->second.is_used = true;
    return found->second.rule ? ValueExpr(book_.call(*found->second.rule)) : ValueExpr();
  }
  if (++n_merged_ > kMaxMerged) return limit_exceeded(path + ": too many combinations of schemas");
  Merged& entry = found->second;
  entry.rule = book_.reserve(hint_of(path));
  RZ_TRY(const ValueExpr body, value(merged, path));
  if (body) {
    book_.define(*entry.rule, *body);
    return ValueExpr(book_.call(*entry.rule));
  }
  book_.define(*std::exchange(entry.rule, std::nullopt), entry.is_used ? book_.nothing() : book_.literal(""));
  has_impossible_ = has_impossible_ || entry.is_used;
  return ValueExpr();
}

Result<ValueExpr> ValueRules::alternatives(const Json& schema, const char* keyword, const std::string& path) {
  const Json base = without(schema, keyword);
  const std::string own_path = path_to(path, keyword);
  std::vector<ExprId> options;
  size_t i = 0;
  std::vector<Json> all(schema[keyword].begin(), schema[keyword].end());
  if (keyword == std::string_view("oneOf")) {
    RZ_TRY(all, kept_apart(context_, base, schema[keyword], own_path));
  }
  for (const Json& option : all) {
    const std::string option_path = path_to(own_path, std::to_string(i++));
    RZ_TRY(const ValueExpr expr, value(both_of(base, option), option_path));
    context_.add_option(expr, options);
  }
  return context_.one_of(options);
}

Result<ValueExpr> ValueRules::listed_values(const Json& schema, const std::string& path) {
  const auto listed = schema.find("enum");
  const auto single = schema.find("const");
  std::vector<ExprId> options;
  for (const Json& value : listed != schema.end() ? *listed : Json::array({*single})) {
    if (single != schema.end() && value != *single) continue;
    RZ_CHECK_OK(context_.check_size());
    RZ_TRY(const bool allowed, checker_.is_allowed(value, schema, path));
    if (allowed) options.push_back(context_.literal_value(value));
  }
  return context_.one_of(options);
}

Result<ValueExpr> ValueRules::typed_value(const Json& schema, const std::string& path) {
  static const Json kAllTypes = {"object", "array", "string", "number", "boolean", "null"};
  Json types = kAllTypes;
  if (const auto found = schema.find("type"); found != schema.end()) {
    types = found->is_array() ? *found : Json::array({*found});
  }
  const bool has_number = std::ranges::find(types, Json("number")) != types.end();
  std::vector<ExprId> options;
  for (const Json& type : types) {
    const auto& name = type.get_ref<const std::string&>();
    if (name == "integer" && has_number) continue;
    RZ_TRY(const ValueExpr expr, value_of_type(name, schema, path));
    context_.add_option(expr, options);
  }
  return context_.one_of(options);
}

Result<ValueExpr> ValueRules::value_of_type(const std::string& type, const Json& schema, const std::string& path) {
  if (type == "null" || type == "boolean") return word(type, schema);
  if (type == "number" || type == "integer") return numbers_.number(schema, type == "integer", path);
  if (type == "string") return strings_.string(schema, path);
  return type == "array" ? arrays_.array(schema, path) : objects_.object(schema, path);
}

// null, true and false, except those that "not" excludes.
ValueExpr ValueRules::word(const std::string& type, const Json& schema) {
  std::vector<ExprId> options;
  for (const Json& value : type == "null" ? Json::array({nullptr}) : Json::array({true, false})) {
    const auto is_it = [&](const Json& leaf) { return excludes_value(leaf, value); };
    if (std::ranges::none_of(excluded(schema), is_it)) options.push_back(book_.literal(value.dump()));
  }
  return options.size() == 2 ? book_.shared("boolean") : context_.one_of(options);
}

}  // namespace realizar::grammar
