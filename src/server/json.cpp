#include "server/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

constexpr size_t kMaxDepth = 100;
// Objects keep their members' order and look for each new name among those before it; so many comparisons are allowed
// in all. An object alone may have 10,000 members.
constexpr uint64_t kMaxComparisons = 50'000'000;

struct Shape {
  size_t depth = 0;
  uint64_t n_comparisons = 0;  // of names
};

// Seen without parsing, from brackets and colons outside of strings.
Shape shape_of(std::string_view text) {
  Shape shape;
  size_t depth = 0;
  std::array<uint64_t, kMaxDepth + 1> n_members{};  // of the open object of each depth
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      shape.depth = std::max(shape.depth, ++depth);
      if (depth > kMaxDepth) return shape;
      n_members[depth] = 0;
    } else if (c == ']' || c == '}') {
      depth -= depth > 0 ? 1 : 0;
    } else if (c == ':') {
      shape.n_comparisons += n_members[depth]++;
    }
  }
  return shape;
}

// Exactly, where 64 bits with a sign hold it: 7, -7 and 7.0 are whole numbers.
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

Result<Json> parse_json(std::string_view text) {
  const Shape shape = shape_of(text);
  if (shape.depth > kMaxDepth) {
    return invalid_argument(fmt::format("the body is nested deeper than {} levels", kMaxDepth));
  }
  if (shape.n_comparisons > kMaxComparisons) return invalid_argument("the body's objects have too many members");
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    return invalid_argument(fmt::format("the body is not JSON, at byte {} of {}", error.byte, text.size()));
  } catch (const nlohmann::json::exception& error) {
    return invalid_argument(std::string("the body cannot be read: ") + error.what());
  }
}

Error wrong(const std::string& where, const std::string& message) {
  return invalid_argument(where + ": " + message, where);
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

double decimal(float value) {
  return std::isfinite(value) ? std::strtod(fmt::format("{}", value).c_str(), nullptr) : double{value};
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

void Fields::fail(const char* name, std::string message) {
  if (!status_.ok()) return;
  status_ = invalid_argument(fmt::format("{}{}: {}", prefix_, name, message), prefix_ + name);
}

std::optional<std::string> Fields::text(const char* name) {
  const Json* value = any(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  fail(name, fmt::format("expected a string, actual {}", value->type_name()));
  return std::nullopt;
}

std::optional<bool> Fields::boolean(const char* name) {
  const Json* value = any(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  fail(name, fmt::format("expected a boolean, actual {}", value->type_name()));
  return std::nullopt;
}

std::optional<double> Fields::number(const char* name) {
  const Json* value = any(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  fail(name, fmt::format("expected a number, actual {}", value->type_name()));
  return std::nullopt;
}

std::optional<int64_t> Fields::integer(const char* name, int64_t least, int64_t most) {
  const auto value = number(name);
  if (!value) return std::nullopt;
  if (const auto whole = whole_number(*any(name)); whole && *whole >= least && *whole <= most) return whole;
  fail(name, fmt::format("expected a whole number from {} to {}, actual {}", least, most, any(name)->dump()));
  return std::nullopt;
}

const Json* Fields::array(const char* name) {
  const Json* value = any(name);
  if (value == nullptr || value->is_array()) return value;
  fail(name, fmt::format("expected an array, actual {}", value->type_name()));
  return nullptr;
}

const Json* Fields::object(const char* name) {
  const Json* value = any(name);
  if (value == nullptr || value->is_object()) return value;
  fail(name, fmt::format("expected an object, actual {}", value->type_name()));
  return nullptr;
}

}  // namespace realizar::server
