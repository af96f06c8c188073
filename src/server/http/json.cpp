#include "server/http/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

// Exact, if it fits into a signed 64-bit integer: 7, -7 and 7.0 are whole numbers.
std::optional<int64_t> whole_number(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<uint64_t>();
    return value <= INT64_MAX ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
  }
  if (json.is_number_integer()) return json.get<int64_t>();
  const auto value = json.get<double>();
  const bool fits = value >= -0x1p63 && value < 0x1p63 && value == std::trunc(value);
  return fits ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
}

}  // namespace

Error wrong(const std::string& where, const std::string& message) {
  return invalid_argument(where + ": " + message, where);
}

Error of_item(Error error, const std::string& field, size_t i) {
  const std::string item = fmt::format("{}[{}]", field, i), begin = field + ": ";
  const std::string_view told = error.message;
  error.message = fmt::format("{}: {}", item, told.starts_with(begin) ? told.substr(begin.size()) : told);
  error.subject = item;
  return error;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string sse(const Json& json) {
  return "data: " + dump(json) + "\n\n";
}

double decimal(float value) {
  return std::isfinite(value) ? std::strtod(fmt::format("{}", value).c_str(), nullptr) : double{value};
}

bool is_empty_text(const Json& json) {
  return json.is_string() && json.get_ref<const std::string&>().empty();
}

bool is_minus_one(const Json& json) {
  return json.is_number() && !json.is_number_unsigned() && json.get<double>() == -1;
}

std::optional<std::vector<std::string>> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& text : list) {
    if (!text.is_string()) return std::nullopt;
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

std::optional<int32_t> token_id_of(const Json& json) {
  if (!json.is_number_integer()) return std::nullopt;
  const auto id = whole_number(json);
  return id && *id >= 0 && *id <= INT32_MAX ? std::optional(static_cast<int32_t>(*id)) : std::nullopt;
}

const Json* Fields::any(const char* name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::fail(const char* name, const std::string& message) {
  if (status_.ok()) status_ = wrong(name, message);
}

Error Fields::wrong(const char* name, const std::string& message) const {
  return server::wrong(prefix_ + name, message);
}

const Json* Fields::of_type(const char* name, bool (Json::*is_such)() const noexcept, const char* expected) {
  const Json* value = any(name);
  if (value == nullptr || (value->*is_such)()) return value;
  fail(name, fmt::format("expected {}, actual {}", expected, value->type_name()));
  return nullptr;
}

std::optional<std::string> Fields::text(const char* name) {
  const Json* value = of_type(name, &Json::is_string, "a string");
  return value == nullptr ? std::nullopt : std::optional(value->get<std::string>());
}

std::optional<bool> Fields::boolean(const char* name) {
  const Json* value = of_type(name, &Json::is_boolean, "a boolean");
  return value == nullptr ? std::nullopt : std::optional(value->get<bool>());
}

std::optional<double> Fields::number(const char* name) {
  const Json* value = of_type(name, &Json::is_number, "a number");
  return value == nullptr ? std::nullopt : std::optional(value->get<double>());
}

const Json* Fields::array(const char* name) {
  return of_type(name, &Json::is_array, "an array");
}

const Json* Fields::object(const char* name) {
  return of_type(name, &Json::is_object, "an object");
}

std::optional<int64_t> Fields::integer(const char* name, int64_t least, int64_t most) {
  const auto value = number(name);
  if (!value) return std::nullopt;
  if (const auto whole = whole_number(*any(name)); whole && *whole >= least && *whole <= most) return whole;
  fail(name, fmt::format("expected a whole number from {} to {}, actual {}", least, most, any(name)->dump()));
  return std::nullopt;
}

Result<std::string> required_text(const Json& object, const char* name, const char* expected) {
  Fields fields(object);
  auto text = fields.text(name);
  if (!fields.status().ok()) return fields.status().error();
  if (!text || text->empty()) return wrong(name, expected);
  return *std::move(text);
}

std::optional<uint64_t> Fields::seed(const char* name) {
  if (!number(name)) return std::nullopt;
  const Json& value = *any(name);
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (const auto whole = whole_number(value)) return static_cast<uint64_t>(*whole);
  fail(name, fmt::format("expected a whole number of 64 bits, actual {}", value.dump()));
  return std::nullopt;
}

}  // namespace realizar::server
