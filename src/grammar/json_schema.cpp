#include "grammar/json_schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "grammar/schema_compiler.h"
#include "grammar/schema_merge.h"

namespace realizar::grammar {
namespace {

constexpr int kMaxDepth = 200;
constexpr size_t kMaxMerged = 2000, kMaxMergedParts = 200;
constexpr size_t kMaxGbnfBytes = size_t{16} << 20;

Json without(Json schema, const char* keyword) {
  schema.erase(keyword);
  return schema;
}

// Alternatives as one atom; nullopt for none.
ValueText one_of(const std::vector<std::string>& options) {
  if (options.empty()) return std::nullopt;
  return options.size() == 1 ? options[0] : fmt::format("({})", fmt::join(options, " | "));
}

}  // namespace

Result<std::string> json_schema_to_gbnf(std::string_view schema_json, const Limits& limits,
                                        const SchemaOptions& options) {
  RZ_TRY(SchemaGrammar made, compile_json_schema(schema_json, limits, options));
  return std::move(made.gbnf);
}

Result<SchemaGrammar> compile_json_schema(std::string_view schema_json, const Limits& limits,
                                          const SchemaOptions& options) {
  RZ_TRY(const SchemaDocument document, SchemaDocument::parse(schema_json, limits));
  RuleBook book;
  SchemaCompiler compiler(document, limits, options, book, "root");
  RZ_CHECK_OK(compiler.run());
  return SchemaGrammar{book.text(), compiler.place_of_rule()};
}

Result<std::string> add_json_schema(RuleBook& book, std::string_view schema_json, const Limits& limits,
                                    const SchemaOptions& options) {
  RZ_TRY(const SchemaDocument document, SchemaDocument::parse(schema_json, limits));
  std::string root = book.reserve("schema");
  RZ_CHECK_OK(SchemaCompiler(document, limits, options, book, root).run());
  return root;
}

std::unordered_map<std::string, std::string> SchemaCompiler::place_of_rule() const {
  std::unordered_map<std::string, std::string> places;
  for (const auto& [ref, rule] : rule_of_ref_) places.emplace(rule, ref);
  return places;
}

Status SchemaCompiler::run() {
  while (!open_refs_.empty()) {
    const Reference open = std::move(open_refs_.front());
    open_refs_.pop_front();
    RZ_TRY(const Json* target, document_.resolve(open.ref, open.ref, options_.relaxed));
    RZ_TRY(const ValueText text, value(*target, open.ref));
    if (!text) return invalid_argument(open.ref + ": no document satisfies this schema", open.ref);
    book_.define(open.rule, *text);
  }
  return {};
}

Status SchemaCompiler::check_size() const {
  if (book_.text().size() - n_bytes_before_ > kMaxGbnfBytes)
    return limit_exceeded("the schema makes too large a grammar");
  return deadline_.check();
}

Result<ValueText> SchemaCompiler::value(const Json& schema, const std::string& path) {
  RZ_CHECK_OK(check_size());
  if (schema.is_boolean()) return schema.get<bool>() ? ValueText(book_.shared("value")) : ValueText();
  if (depth_ >= kMaxDepth) return limit_exceeded(fmt::format("{}: the schema nests deeper than {}", path, kMaxDepth));
  ++depth_;
  Result<ValueText> result = object_value(schema, path);
  --depth_;
  return result;
}

Result<ValueText> SchemaCompiler::object_value(const Json& full_schema, const std::string& path) {
  RZ_CHECK_OK(check_keywords(full_schema, path, options_.relaxed));
  const Json schema = assertions_of(full_schema);
  if (schema.empty()) return ValueText(book_.shared("value"));
  const bool is_single = schema.size() == 1;
  if (is_single && schema.contains("$ref")) {
    RZ_TRY(std::string rule, reference(schema["$ref"].get<std::string>(), path));
    return ValueText(std::move(rule));
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
Result<ValueText> SchemaCompiler::flattened(const Json& schema, const std::string& path) {
  RZ_TRY(Json merged, merge_schemas(schema, Json::object(), path, options_.relaxed));  // $ref becomes a part of allOf
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
        RZ_TRY(target, document_.resolve(part["$ref"].get<std::string>(), path, options_.relaxed));
      }
      if (target->is_object()) RZ_CHECK_OK(check_keywords(*target, path_to(path, "allOf"), options_.relaxed));
      RZ_TRY(merged, merge_schemas(merged, *target, path, options_.relaxed));
    }
  }
  return merged_value(merged, path);
}

// Merging can make schemas without end out of recursive ones, but only finitely many different ones.
Result<ValueText> SchemaCompiler::merged_value(const Json& merged, const std::string& path) {
  if (merged.is_boolean() || merged.empty()) return value(merged, path);
  const std::string text = merged.dump();
  const auto [found, is_new] = merged_.try_emplace(text);
  if (!is_new) {
    found->second.is_used = true;
    return found->second.rule.empty() ? ValueText() : ValueText(found->second.rule);
  }
  if (++n_merged_ > kMaxMerged) return limit_exceeded(path + ": too many combinations of schemas");
  Merged& entry = found->second;
  entry.rule = book_.reserve(path.substr(path.rfind('/') + 1));
  RZ_TRY(const ValueText body, value(merged, path));
  if (body) {
    book_.define(entry.rule, *body);
    return ValueText(entry.rule);
  }
  if (entry.is_used) return invalid_argument(path + ": no document satisfies this schema", path);
  entry.rule.clear();
  return ValueText();
}

Result<ValueText> SchemaCompiler::alternatives(const Json& schema, const char* keyword, const std::string& path) {
  const Json base = without(schema, keyword);
  const std::string own_path = path_to(path, keyword);
  std::vector<std::string> options;
  size_t i = 0;
  for (const Json& option : schema[keyword]) {
    const std::string option_path = path_to(own_path, std::to_string(i++));
    RZ_TRY(const ValueText text, value(both_of(base, option), option_path));
    if (text && std::ranges::find(options, *text) == options.end()) options.push_back(*text);
  }
  return one_of(options);
}

Result<ValueText> SchemaCompiler::listed_values(const Json& schema, const std::string& path) {
  const auto listed = schema.find("enum");
  const auto single = schema.find("const");
  std::vector<std::string> options;
  for (const Json& value : listed != schema.end() ? *listed : Json::array({*single})) {
    if (single != schema.end() && value != *single) continue;
    RZ_TRY(const bool allowed, is_allowed(value, schema, path));
    if (allowed) options.push_back(literal_value(value));
  }
  return one_of(options);
}

// What stands beside enum or const and is easily decided; the rest is refused where it would matter.
Result<bool> SchemaCompiler::is_allowed(const Json& value, const Json& schema, const std::string& path) const {
  bool allowed = true;
  for (const auto& [name, limit] : schema.items()) {
    if (name == "enum" || name == "const") continue;
    const std::string about_what = name == "pattern" || name == "format"                            ? "string"
                                   : name.ends_with("Length")                                       ? "string"
                                   : name.ends_with("imum") || name == "multipleOf"                 ? "number"
                                   : name.find("tems") != std::string::npos                         ? "array"
                                   : name.find("ropert") != std::string::npos || name == "required" ? "object"
                                                                                                    : "";
    if (name == "type") {
      const Json types = limit.is_array() ? limit : Json::array({limit});
      allowed = allowed && std::any_of(types.begin(), types.end(),
                                       [&](const Json& type) { return is_of_type(value, type.get<std::string>()); });
    } else if (about_what != value.type_name()) {
      continue;
    } else if (name == "minLength" || name == "maxLength") {
      const size_t length = n_code_points(value.get<std::string>());
      allowed = allowed && (name == "minLength" ? length >= count_of(schema, "minLength")
                                                : length <= count_of(schema, "maxLength"));
    } else if (name == "minimum" || name == "maximum") {
      allowed = allowed && (name == "minimum" ? value >= limit : value <= limit);
    } else if (name == "exclusiveMinimum" || name == "exclusiveMaximum") {
      allowed = allowed && (name == "exclusiveMinimum" ? value > limit : value < limit);
    } else if (!options_.relaxed) {
      return unsupported(fmt::format("{}: \"{}\" together with \"enum\" or \"const\" is not supported", path, name),
                         path_to(path, name));
    }
  }
  return allowed;
}

std::string SchemaCompiler::literal_value(const Json& value) {
  if (!value.is_structured()) return gbnf_literal(value.dump());
  const bool is_object = value.is_object();
  std::vector<std::string> items;
  for (const auto& [name, item] : value.items()) {
    items.push_back(is_object ? with_colon(gbnf_literal(Json(name).dump()), literal_value(item)) : literal_value(item));
  }
  book_.shared("ws");
  const std::string inner = fmt::format("{}", fmt::join(items, " \",\" ws "));
  const std::string body = fmt::format("ws {}{}ws", inner, items.empty() ? "" : " ");
  return is_object ? "(\"{\" " + (items.empty() ? "ws" : body) + " \"}\")"
                   : "(\"[\" " + (items.empty() ? "ws" : body) + " \"]\")";
}

Result<ValueText> SchemaCompiler::typed_value(const Json& schema, const std::string& path) {
  static const Json kAllTypes = {"object", "array", "string", "number", "boolean", "null"};
  Json types = kAllTypes;
  if (const auto found = schema.find("type"); found != schema.end()) {
    types = found->is_array() ? *found : Json::array({*found});
  }
  const bool has_number = std::ranges::find(types, Json("number")) != types.end();
  std::vector<std::string> options;
  for (const Json& type : types) {
    const auto& name = type.get_ref<const std::string&>();
    if (name == "integer" && has_number) continue;
    RZ_TRY(const ValueText text, value_of_type(name, schema, path));
    if (text && std::ranges::find(options, *text) == options.end()) options.push_back(*text);
  }
  return one_of(options);
}

Result<ValueText> SchemaCompiler::value_of_type(const std::string& type, const Json& schema, const std::string& path) {
  if (type == "null") return ValueText("\"null\"");
  if (type == "boolean") return ValueText(book_.shared("boolean"));
  if (type == "number" || type == "integer") return number(schema, type == "integer", path);
  if (type == "string") return string(schema, path);
  return type == "array" ? array(schema, path) : object(schema, path);
}

Result<std::string> SchemaCompiler::reference(const std::string& ref, const std::string& path) {
  RZ_TRY([[maybe_unused]] const Json* target, document_.resolve(ref, path, options_.relaxed));
  const auto [found, is_new] = rule_of_ref_.try_emplace(ref);
  if (is_new) {
    found->second = book_.reserve(ref.substr(ref.rfind('/') + 1));
    open_refs_.push_back({found->second, ref});
  }
  return found->second;
}

}  // namespace realizar::grammar
