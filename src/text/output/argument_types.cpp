#include "text/output/argument_types.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/ascii_case.h"
#include "text/output/json_value.h"
#include "text/output/literal_value.h"

namespace realizar::text {
namespace {

using Json = nlohmann::ordered_json;
using Types = std::vector<std::string>;

constexpr int kMaxSchemaDepth = 8;

const Json* member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(key));
  return found == object.end() ? nullptr : &*found;
}

const Json* schema_of(const Json& parameters, std::string_view key) {
  const Json* properties = member(parameters, "properties");
  return properties ? member(*properties, key) : nullptr;
}

const char* type_of(const Json& value) {
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "boolean";
  if (value.is_null()) return "null";
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  return value.is_number_integer() ? "integer" : "number";
}

// Adds the types that `schema` allows; false if it does not restrict them.
bool add_types(const Json& schema, Types& types, int depth) {
  if (const Json* type = member(schema, "type")) {
    if (type->is_string()) types.push_back(type->get<std::string>());
    for (const Json& one : type->is_array() ? *type : Json::array()) {
      if (one.is_string()) types.push_back(one.get<std::string>());
    }
    if (const Json* nullable = member(schema, "nullable"); nullable && *nullable == true) types.emplace_back("null");
    return true;
  }
  if (const Json* values = member(schema, "enum"); values && values->is_array()) {
    for (const Json& value : *values) types.emplace_back(type_of(value));
    return true;
  }
  for (const char* union_name : {"anyOf", "oneOf"}) {
    const Json* variants = member(schema, union_name);
    if (!variants || !variants->is_array() || depth >= kMaxSchemaDepth) continue;
    const auto says = [&](const Json& variant) { return add_types(variant, types, depth + 1); };
    return std::all_of(variants->begin(), variants->end(), says);
  }
  return false;
}

// Empty: any.
Types types_of(const Json& parameters, std::string_view key) {
  Types types;
  const Json* schema = schema_of(parameters, key);
  if (!schema || !add_types(*schema, types, 0)) types.clear();
  return types;
}

bool allows(const Types& types, const std::string& json) {
  if (types.empty()) return true;
  const auto has = [&](const char* type) { return std::find(types.begin(), types.end(), type) != types.end(); };
  switch (json.front()) {
    case '{':
      return has("object");
    case '[':
      return has("array");
    case '"':
      return false;  // the text of a string argument is not JSON
    case 't':
    case 'f':
      return has("boolean");
    case 'n':
      return has("null");
    default:
      return has("number") || (has("integer") && json.find_first_of(".eE") == std::string::npos);
  }
}

// Templates print Python values unless they use tojson.
std::string_view as_json_word(std::string_view text) {
  if (text == "True") return "true";
  if (text == "False") return "false";
  return text == "None" ? "null" : text;
}

bool has_type(const Types& types, std::string_view type) {
  return std::ranges::find(types, type) != types.end();
}

// Converts 007 and +7 to 7.
std::string plain_number(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const size_t n_zeros = std::min(text.find_first_not_of('0'), text.size());
  const bool keeps_zero = n_zeros > 0 && (n_zeros == text.size() || text[n_zeros] < '0' || text[n_zeros] > '9');
  text.remove_prefix(n_zeros - (keeps_zero ? 1 : 0));
  return (is_negative ? "-" : "") + std::string(text);
}

// The JSON value of a loosely spelled text; "": none.
std::string loosely_typed(const Types& types, std::string_view text) {
  text = without_space_around(text);
  const std::string word = lower_case(text);
  if (has_type(types, "null") && (word == "null" || word == "none" || word == "nil")) return "null";
  if (has_type(types, "boolean") && (word == "true" || word == "yes" || word == "on" || word == "1")) return "true";
  if (has_type(types, "boolean") && (word == "false" || word == "no" || word == "off" || word == "0")) return "false";
  std::string json;
  const bool is_json = read_json_value(plain_number(text), json);
  const bool is_number = is_json && (json.front() == '-' || (json.front() >= '0' && json.front() <= '9'));
  if (is_number && allows(types, json)) return json;
  return word == "null" || word == "none" ? "null" : "";
}

// Templates that do not use tojson print objects and lists like Python, and so do models.
bool read_literal(std::string_view text, const Types& types, std::string& json) {
  text = without_space_around(text);
  const bool is_wanted =
      (text.starts_with('{') && has_type(types, "object")) || (text.starts_with('[') && has_type(types, "array"));
  return is_wanted && read_python_value(text, json);
}

}  // namespace

bool is_string_only(const Json& parameters, std::string_view key) {
  const Types types = types_of(parameters, key);
  const auto is_string = [](const std::string& type) { return type == "string"; };
  return !types.empty() && std::all_of(types.begin(), types.end(), is_string);
}

bool may_be_string(const Json& parameters, std::string_view key) {
  const Types types = types_of(parameters, key);
  return has_type(types, "string");
}

std::string typed_argument(const Json& parameters, std::string_view key, std::string_view text) {
  const Types types = types_of(parameters, key);
  const bool may_be_text = types.empty() || has_type(types, "string");
  std::string json;
  const bool is_json = read_json_value(as_json_word(text), json) || read_literal(text, types, json);
  if (is_json && allows(types, json)) return json;
  if (const std::string loose = may_be_text ? "" : loosely_typed(types, text); !loose.empty()) return loose;
  if (is_json && !may_be_text) return json;
  std::string quoted = "\"";
  append_json_escaped(quoted, text);
  return quoted + '"';
}

}  // namespace realizar::text
