#include "grammar/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "grammar/schema_compiler.h"
#include "grammar/schema_contradictions.h"
#include "grammar/schema_merge.h"
#include "grammar/schema_negation.h"

namespace realizar::grammar {
namespace {

constexpr int kMaxDepth = 200;
constexpr size_t kMaxMerged = 2000, kMaxMergedParts = 1000;
constexpr size_t kMaxExprs = 1'000'000;

Json without(Json schema, const char* keyword) {
  schema.erase(keyword);
  return schema;
}

}  // namespace

Result<SchemaRules> compile_json_schema(std::string_view schema_json, const Limits& limits,
                                        const SchemaOptions& options) {
  RZ_TRY(const SchemaDocument document, SchemaDocument::parse(schema_json, limits));
  RuleBook book;
  const RuleId root = book.named("root");
  SchemaCompiler compiler(document, limits, options, book, root);
  RZ_CHECK_OK(compiler.run());
  for (const std::string& place : compiler.left_out()) book.add_left_out(options.name + place);
  auto places = compiler.place_of_rule();
  return SchemaRules{book.take(root), std::move(places)};
}

Result<ExprId> add_json_schema(RuleBook& book, std::string_view schema_json, const Limits& limits,
                               const SchemaOptions& options) {
  RZ_TRY(const SchemaDocument document, SchemaDocument::parse(schema_json, limits));
  const RuleId root = book.reserve("schema");
  SchemaCompiler compiler(document, limits, options, book, root);
  RZ_CHECK_OK(compiler.run());
  for (const std::string& place : compiler.left_out()) book.add_left_out(options.name + place);
  return book.call(root);
}

Result<ExprId> add_schema_text(RuleBook& book, std::string_view schema_json, std::string_view mark,
                               const Limits& limits, const SchemaOptions& options) {
  RZ_TRY(const SchemaDocument document, SchemaDocument::parse(schema_json, limits));
  const RuleId root = book.reserve("text");
  SchemaCompiler compiler(document, limits, options, book, root);
  const auto text = compiler.text_without(mark);
  book.define(root, text.ok() ? *text : book.literal(""));  // nothing calls it after an error
  if (!text.ok()) return text;
  for (const std::string& place : compiler.left_out()) book.add_left_out(options.name + place);
  return book.call(root);
}

std::unordered_map<std::string, std::string> SchemaCompiler::place_of_rule() {
  std::unordered_map<std::string, std::string> places;
  for (const auto& [ref, rule] : rule_of_ref_) places.emplace(book_.rule(rule).name, ref);
  return places;
}

// Alternatives; nullopt for none.
ValueExpr SchemaCompiler::one_of(const std::vector<ExprId>& options) {
  return options.empty() ? ValueExpr() : book_.choice(options);
}

// Each once.
void SchemaCompiler::add_option(const ValueExpr& option, std::vector<ExprId>& options) const {
  const auto is_it = [&](ExprId other) { return book_.is_same(*option, other); };
  if (option && std::ranges::none_of(options, is_it)) options.push_back(*option);
}

ExprId SchemaCompiler::with_colon(ExprId key, ExprId value) {
  return book_.sequence({key, literal(":"), book_.optional(literal(" ")), value});
}

Status SchemaCompiler::run() {
  std::string impossible;  // the place of the first one
  while (!open_refs_.empty()) {
    const Reference open = std::move(open_refs_.front());
    open_refs_.pop_front();
    RZ_TRY(const Json* target, document_.resolve(open.ref, open.ref, left_out_));
    RZ_TRY(const ValueExpr body, value(*target, open.ref));
    if (!body && impossible.empty()) impossible = open.ref;
    book_.define(open.rule, body ? *body : book_.nothing());
  }
  has_impossible_ = has_impossible_ || !impossible.empty();
  if (!has_impossible_ || book_.remove_impossible(root_)) return {};
  if (impossible.empty()) impossible = root_ref_;
  return invalid_argument(impossible + ": no document satisfies this schema", impossible);
}

Status SchemaCompiler::check_size() const {
  if (book_.n_exprs() - n_exprs_before_ > kMaxExprs) return limit_exceeded("the schema makes too large a grammar");
  return deadline_.check();
}

Result<ValueExpr> SchemaCompiler::value(const Json& schema, const std::string& path) {
  RZ_CHECK_OK(check_size());
  if (schema.is_boolean()) return schema.get<bool>() ? ValueExpr(book_.shared("value")) : ValueExpr();
  if (depth_ >= kMaxDepth) return limit_exceeded(fmt::format("{}: the schema nests deeper than {}", path, kMaxDepth));
  ++depth_;
  Result<ValueExpr> result = object_value(schema, path);
  --depth_;
  return result;
}

Result<ValueExpr> SchemaCompiler::object_value(const Json& full_schema, const std::string& path) {
  RZ_CHECK_OK(check_keywords(full_schema, path, left_out_));
  RZ_TRY(const Json schema, expanded(assertions_of(full_schema), path, document_, left_out_));
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

// One schema of all that allOf and $ref hold.
Result<ValueExpr> SchemaCompiler::flattened(const Json& schema, const std::string& path) {
  RZ_TRY(Json merged, merge_schemas(schema, Json::object(), path, left_out_));  // $ref becomes a part of allOf
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
        RZ_TRY(target, document_.resolve(part["$ref"].get<std::string>(), path, left_out_));
      }
      RZ_CHECK_OK(check_size());
      Json own = *target;
      if (own.is_object()) {
        RZ_CHECK_OK(check_keywords(own, path_to(path, "allOf"), left_out_));
        RZ_TRY(own, expanded(assertions_of(own), path_to(path, "allOf"), document_, left_out_));
      }
      RZ_TRY(merged, merge_schemas(merged, own, path, left_out_));
      drop_contradictions(merged);
    }
  }
  return merged_value(merged, path);
}

// Merging can make schemas without end out of recursive ones, but only finitely many different ones.
Result<ValueExpr> SchemaCompiler::merged_value(const Json& merged, const std::string& path) {
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
  book_.define(*std::exchange(entry.rule, std::nullopt), entry.is_used ? book_.nothing() : literal(""));
  has_impossible_ = has_impossible_ || entry.is_used;
  return ValueExpr();
}

Result<ValueExpr> SchemaCompiler::alternatives(const Json& schema, const char* keyword, const std::string& path) {
  const Json base = without(schema, keyword);
  const std::string own_path = path_to(path, keyword);
  std::vector<ExprId> options;
  size_t i = 0;
  std::vector<Json> all(schema[keyword].begin(), schema[keyword].end());
  if (keyword == std::string_view("oneOf")) {
    RZ_TRY(all, kept_apart(base, schema[keyword], own_path));
  }
  for (const Json& option : all) {
    const std::string option_path = path_to(own_path, std::to_string(i++));
    RZ_TRY(const ValueExpr expr, value(both_of(base, option), option_path));
    add_option(expr, options);
  }
  return one_of(options);
}

Result<ValueExpr> SchemaCompiler::listed_values(const Json& schema, const std::string& path) {
  const auto listed = schema.find("enum");
  const auto single = schema.find("const");
  std::vector<ExprId> options;
  for (const Json& value : listed != schema.end() ? *listed : Json::array({*single})) {
    if (single != schema.end() && value != *single) continue;
    RZ_CHECK_OK(check_size());
    RZ_TRY(const bool allowed, is_allowed(value, schema, path));
    if (allowed) options.push_back(literal_value(value));
  }
  return one_of(options);
}

ExprId SchemaCompiler::literal_value(const Json& value) {
  if (!value.is_structured()) return literal(value.dump());
  const bool is_object = value.is_object();
  const ExprId ws = book_.shared("ws");
  std::vector<ExprId> parts{literal(is_object ? "{" : "["), ws};
  bool is_first = true;
  for (const auto& [name, item] : value.items()) {
    if (!std::exchange(is_first, false)) parts.insert(parts.end(), {literal(","), ws});
    const ExprId own = literal_value(item);
    parts.push_back(is_object ? with_colon(literal(Json(name).dump()), own) : own);
  }
  if (!value.empty()) parts.push_back(ws);
  parts.push_back(literal(is_object ? "}" : "]"));
  return book_.sequence(parts);
}

Result<ValueExpr> SchemaCompiler::typed_value(const Json& schema, const std::string& path) {
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
    add_option(expr, options);
  }
  return one_of(options);
}

Result<ValueExpr> SchemaCompiler::value_of_type(const std::string& type, const Json& schema, const std::string& path) {
  if (type == "null" || type == "boolean") return word(type, schema);
  if (type == "number" || type == "integer") return number(schema, type == "integer", path);
  if (type == "string") return string(schema, path);
  return type == "array" ? array(schema, path) : object(schema, path);
}

// null, true and false, without those that "not" excludes.
ValueExpr SchemaCompiler::word(const std::string& type, const Json& schema) {
  std::vector<ExprId> options;
  for (const Json& value : type == "null" ? Json::array({nullptr}) : Json::array({true, false})) {
    const auto is_it = [&](const Json& leaf) { return excludes_value(leaf, value); };
    if (std::ranges::none_of(excluded(schema), is_it)) options.push_back(literal(value.dump()));
  }
  return options.size() == 2 ? book_.shared("boolean") : one_of(options);
}

Result<ValueExpr> SchemaCompiler::reference(const std::string& ref, const std::string& path) {
  RZ_TRY(const Json* target, document_.resolve(ref, path, left_out_));
  if (target->is_boolean()) return value(*target, path);
  const auto [found, is_new] = rule_of_ref_.try_emplace(ref, 0);
  if (is_new) {
    found->second = book_.reserve(hint_of(ref));
    open_refs_.push_back({found->second, ref});
  }
  return ValueExpr(book_.call(found->second));
}

}  // namespace realizar::grammar
