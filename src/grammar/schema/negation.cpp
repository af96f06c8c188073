#include "grammar/schema/negation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/try.h"

namespace realizar::grammar {
namespace {

constexpr int kMaxReferences = 50;

const Json kNoOptions = Json::array();

bool is_scalar_list(const Json& values) {
  return values.is_array() && std::ranges::none_of(values, [](const Json& value) { return value.is_structured(); });
}

bool is_leaf(const Json& schema) {
  if (!schema.is_object()) return false;
  if (schema.size() == 1) return schema.contains("enum") && is_scalar_list(schema["enum"]);
  if (schema.size() != 2 || !schema.contains("type")) return false;
  if (schema["type"] == "number" && schema.contains("multipleOf")) {
    return schema["multipleOf"].is_number() && schema["multipleOf"] > 0;
  }
  return schema["type"] == "string" && schema.contains("pattern") && schema["pattern"].is_string();
}

bool is_normal(const Json& negated) {
  return negated.is_object() && negated.size() == 1 && negated.contains("anyOf") && negated["anyOf"].is_array() &&
         std::ranges::all_of(negated["anyOf"], is_leaf);
}

Json not_leaf(const Json& leaf) {
  return {{"not", {{"anyOf", Json::array({leaf})}}}};
}

Json all_of(const Json& a, const Json& b) {
  return {{"allOf", Json::array({a, b})}};
}

// The options of a negation: some assertion of the schema must fail.
class Negation {
 public:
  Negation(const Json& schema, const std::string& path, const SchemaDocument& document, int n_references)
      : schema_(schema), path_(path), document_(document), n_references_(n_references) {}

  Result<Json> run() {
    const bool is_listed = schema_.contains("enum") || schema_.contains("const");
    if (is_listed) RZ_CHECK_OK(add_values());
    if (schema_.contains("type") && !is_listed) add_types(schema_["type"]);
    for (const auto& [name, value] : schema_.items()) RZ_CHECK_OK(add(name, value));
    RZ_CHECK_OK(add_properties());
    RZ_CHECK_OK(add_items());
    RZ_CHECK_OK(add_condition());
    if (options_.empty()) return Json(false);
    return options_.size() == 1 ? options_[0] : Json{{"anyOf", options_}};
  }

 private:
  Error not_built(const std::string& name) const {
    return unsupported(fmt::format("{}: \"{}\" inside \"not\" or \"if\" is not supported", path_, name),
                       path_to(path_, name));
  }

  Result<Json> negated(const Json& schema, const std::string& name) const {
    if (schema.is_object() && schema.contains("$ref")) return Json{{"not", schema}};
    return negation_of(schema, path_to(path_, name), document_);
  }

  void add_option(Json option) {
    if (option != Json(false)) options_.push_back(std::move(option));
  }

  // Negates keywords that restrict documents by themselves.
  Status add(const std::string& name, const Json& value) {
    if (name == "minimum") add_option({{"type", "number"}, {"exclusiveMaximum", value}});
    if (name == "maximum") add_option({{"type", "number"}, {"exclusiveMinimum", value}});
    if (name == "exclusiveMinimum") add_option({{"type", "number"}, {"maximum", value}});
    if (name == "exclusiveMaximum") add_option({{"type", "number"}, {"minimum", value}});
    if (name == "multipleOf" || name == "pattern") {
      const char* type = name == "pattern" ? "string" : "number";
      Json option = not_leaf({{"type", type}, {name, value}});
      option["type"] = type;
      add_option(option);
    }
    add_counts(name, "string", "minLength", "maxLength");
    add_counts(name, "array", "minItems", "maxItems");
    add_counts(name, "object", "minProperties", "maxProperties");
    if (name == "not") add_option(value);
    if (name == "allOf" || name == "anyOf" || name == "oneOf") return add_combination(name, value);
    if (name == "$ref") return add_reference(value.get<std::string>());
    if (name == "additionalProperties" && value == Json(true)) return {};
    constexpr std::string_view kHard[] = {"format",        "uniqueItems",          "patternProperties",
                                          "propertyNames", "additionalProperties", "contains"};
    return std::ranges::find(kHard, name) == std::end(kHard) ? Status() : not_built(name);
  }

  // Adds the opposite bound, one beyond this one.
  void add_counts(const std::string& name, const char* type, const char* min, const char* max) {
    if (name != min && name != max) return;
    const uint64_t count = *count_of(schema_, name.c_str());
    if (name == max) add_option({{"type", type}, {min, count + 1}});
    if (name == min && count > 0) add_option({{"type", type}, {max, count - 1}});
  }

  void add_types(const Json& given) {
    const Json types = given.is_array() ? given : Json::array({given});
    const auto has = [&](const char* type) { return std::ranges::find(types, Json(type)) != types.end(); };
    const bool no_integers = has("integer") && !has("number");
    Json others = Json::array();
    for (const char* type : {"null", "boolean", "object", "array", "string", "number"}) {
      if (!has(type)) others.push_back(type);
    }
    if (others.empty()) return;
    Json option = no_integers ? not_leaf({{"type", "number"}, {"multipleOf", 1}}) : Json::object();
    option["type"] = others;
    add_option(option);
  }

  Status add_values() {
    Json scalars = Json::array(), option = Json::object();
    const auto listed = schema_.find("enum");
    for (const Json& value : listed != schema_.end() ? *listed : Json::array({schema_["const"]})) {
      if (!is_possible(value)) continue;
      if (value.is_structured() && !value.empty()) return not_built(listed != schema_.end() ? "enum" : "const");
      if (!value.is_structured()) scalars.push_back(value);
      if (value.is_array()) option["minItems"] = 1U;
      if (value.is_object()) option["minProperties"] = 1U;
    }
    if (!scalars.empty()) option.update(not_leaf({{"enum", scalars}}));
    add_option(option.empty() ? Json(true) : option);
    return {};
  }

  bool is_possible(const Json& value) const {
    if (schema_.contains("const") && schema_["const"] != value) return false;
    if (!schema_.contains("type")) return true;
    const Json& given = schema_["type"];
    const auto is_it = [&](const Json& type) { return is_of_type(value, type.get<std::string>()); };
    return given.is_array() ? std::ranges::any_of(given, is_it) : is_it(given);
  }

  Status add_combination(const std::string& name, const Json& parts) {
    Json all = Json::array();
    for (const Json& part : parts) {
      RZ_TRY(Json own, negated(part, name));
      if (name == "allOf") {
        add_option(std::move(own));
      } else {
        all.push_back(std::move(own));
      }
    }
    if (name != "allOf") add_option({{"allOf", all}});
    return {};
  }

  Status add_reference(const std::string& ref) {
    if (n_references_ >= kMaxReferences) {
      return invalid_argument(fmt::format("{}: \"$ref\" to \"{}\" leads back to itself", path_, ref),
                              path_to(path_, "$ref"));
    }
    LeftOut nothing(false);
    RZ_TRY(const Json* target, document_.resolve(ref, path_, nothing));
    if (target->is_boolean()) {
      add_option(!target->get<bool>());
      return {};
    }
    RZ_CHECK_OK(check_keywords(*target, path_, nothing));
    RZ_TRY(Json own, Negation(assertions_of(*target), path_, document_, n_references_ + 1).run());
    add_option(std::move(own));
    return {};
  }

  // A required property with a wrong value may also be missing.
  Status add_properties() {
    const Json properties = schema_.value("properties", Json::object());
    const Json required = schema_.value("required", kNoOptions);
    const auto names = required.get<std::set<std::string>>();
    for (const auto& [name, property] : properties.items()) {
      RZ_TRY(Json own, negated(property, "properties"));
      Json option{{"type", "object"}, {"properties", {{name, std::move(own)}}}};
      if (!names.contains(name)) option["required"] = Json::array({name});
      add_option(std::move(option));
    }
    for (const std::string& key : names) {
      if (!properties.contains(key)) add_option({{"type", "object"}, {"properties", {{key, false}}}});
    }
    const Json names_by_key = schema_.value("dependentRequired", Json::object());
    const Json schema_by_key = schema_.value("dependentSchemas", Json::object());
    for (const auto& [key, others] : names_by_key.items()) {
      for (const Json& name : others) {
        add_option(
            {{"type", "object"}, {"required", Json::array({key})}, {"properties", {{name.get<std::string>(), false}}}});
      }
    }
    for (const auto& [key, dependent] : schema_by_key.items()) {
      add_option({{"type", "object"}, {"required", Json::array({key})}, {"not", dependent}});
    }
    return {};
  }

  Status add_items() {
    const Json prefix = schema_.value("prefixItems", kNoOptions);
    if (prefix.size() > kMaxPrefixItems) return not_built("prefixItems");
    Json before = Json::array();
    for (const Json& item : prefix) {
      RZ_TRY(Json own, negated(item, "prefixItems"));
      Json items = before;
      items.push_back(std::move(own));
      add_option({{"type", "array"}, {"minItems", items.size()}, {"prefixItems", items}});
      before.push_back(true);
    }
    const Json rest = schema_.value("items", Json(true));
    if (rest == Json(true)) return {};
    if (rest != Json(false)) return not_built("items");
    add_option({{"type", "array"}, {"minItems", prefix.size() + 1}});
    return {};
  }

  Status add_condition() {
    if (!schema_.contains("if")) return {};
    const Json& condition = schema_["if"];
    if (schema_.contains("then")) add_option(all_of(condition, {{"not", schema_["then"]}}));
    if (schema_.contains("else")) add_option(all_of({{"not", condition}}, {{"not", schema_["else"]}}));
    return {};
  }

  const Json& schema_;
  const std::string& path_;
  const SchemaDocument& document_;
  int n_references_;
  Json options_ = Json::array();
};

Result<Json> conditional(const Json& schema, const std::string& path, const SchemaDocument& document) {
  const Json then = schema.value("then", Json(true)), otherwise = schema.value("else", Json(true));
  RZ_TRY(const Json is_not, negation_of(schema["if"], path_to(path, "if"), document));
  return Json{{"anyOf", Json::array({all_of(schema["if"], then), all_of(is_not, otherwise)})}};
}

Json absent(const std::string& key) {
  return {{"properties", {{key, false}}}};
}

// The implications of the keywords, as parts of "allOf".
Result<Json> dependencies(const Json& schema) {
  const Json names_by_key = schema.value("dependentRequired", Json::object());
  const Json schema_by_key = schema.value("dependentSchemas", Json::object());
  Json parts = Json::array();
  for (const auto& [key, names] : names_by_key.items()) {
    if (names.empty()) continue;
    Json required = names;
    required.insert(required.begin(), key);
    const Json present{{"type", "object"}, {"required", required}};
    parts.push_back({{"anyOf", Json::array({absent(key), present})}});
  }
  for (const auto& [key, dependent] : schema_by_key.items()) {
    if (dependent == Json(true)) continue;
    const Json present{{"type", "object"}, {"required", Json::array({key})}, {"allOf", Json::array({dependent})}};
    parts.push_back({{"anyOf", Json::array({absent(key), present})}});
  }
  return parts;
}

}  // namespace

const Json& excluded(const Json& schema) {
  const auto found = schema.find("not");
  return found == schema.end() ? kNoOptions : (*found)["anyOf"];
}

bool excludes_value(const Json& option, const Json& value) {
  const auto listed = option.find("enum");
  return listed != option.end() && std::ranges::find(*listed, value) != listed->end();
}

Result<Json> negation_of(const Json& schema, const std::string& path, const SchemaDocument& document) {
  if (schema.is_boolean()) return Json(!schema.get<bool>());
  LeftOut nothing(false);
  RZ_CHECK_OK(check_keywords(schema, path, nothing));
  return Negation(assertions_of(schema), path, document, 0).run();
}

Result<Json> expanded(const Json& schema, const std::string& path, const SchemaDocument& document, LeftOut& left_out) {
  const bool has_not = schema.contains("not") && !is_normal(schema["not"]);
  const auto is_hard = [&](const char* name) { return schema.contains(name); };
  constexpr const char* kConditions[] = {"if", "then", "else", "dependentRequired", "dependentSchemas"};
  if (!has_not && std::ranges::none_of(kConditions, is_hard)) return schema;
  Json out = schema;
  for (const char* name : kConditions) out.erase(name);
  RZ_TRY(Json parts, dependencies(schema));
  const auto add = [&](Result<Json> part) -> Status {
    if (!part.ok()) {
      return part.error().code == ErrorCode::kUnsupported ? left_out.take(part.error()) : Status(part.error());
    }
    parts.push_back(std::move(part).value());
    return Status();
  };
  if (has_not) {
    out.erase("not");
    RZ_CHECK_OK(add(negation_of(schema["not"], path_to(path, "not"), document)));
  }
  if (schema.contains("if") && (schema.contains("then") || schema.contains("else"))) {
    RZ_CHECK_OK(add(conditional(schema, path, document)));
  }
  if (parts.empty()) return out;
  Json all = out.value("allOf", Json::array());
  for (const Json& part : parts) all.push_back(part);
  out["allOf"] = all;
  return out;
}

}  // namespace realizar::grammar
