#include "formats/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/printable.h"
#include "base/try.h"

namespace realizar {
namespace {

const char* kind_name(const MetaValue& value) {
  static constexpr const char* kNames[] = {"a bool", "an integer", "an integer", "a number", "a string"};
  static constexpr const char* kArrayNames[] = {"an array of bools", "an array of integers", "an array of integers",
                                                "an array of numbers", "an array of strings"};
  const auto* array = std::get_if<MetaArray>(&value);
  return array ? kArrayNames[array->index()] : kNames[value.index()];
}

Error wrong_kind(std::string_view key, std::string_view expected, const MetaValue& value) {
  return format_error(
      fmt::format("metadata '{}': expected {}, actual {} {}", key, expected, kind_name(value), to_string(value)),
      std::string(key));
}

bool is_exact(double value, auto integer) {
  // 2^63 and 2^64 themselves would overflow on the way back.
  constexpr double kLimit = std::is_signed_v<decltype(integer)> ? 0x1p63 : 0x1p64;
  return value < kLimit && static_cast<decltype(integer)>(value) == integer;
}

// Conversion of one stored scalar; nullopt if it does not fit.
template <class To, class From>
std::optional<To> convert(const From& from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (std::is_same_v<To, int64_t> && std::is_same_v<From, uint64_t>) {
    if (from <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return static_cast<int64_t>(from);
  } else if constexpr (std::is_same_v<To, double> &&
                       (std::is_same_v<From, int64_t> || std::is_same_v<From, uint64_t>)) {
    if (const auto value = static_cast<double>(from); is_exact(value, from)) return value;
  }
  return std::nullopt;
}

template <class To>
Result<std::optional<To>> get_scalar(const Metadata& metadata, std::string_view key, std::string_view expected) {
  const MetaValue* value = metadata.find(key);
  if (value == nullptr) return std::optional<To>();
  std::optional<To> converted =
      std::visit([](const auto& from) { return convert<To, std::decay_t<decltype(from)>>(from); }, *value);
  if (!converted) return wrong_kind(key, expected, *value);
  return converted;
}

template <class To>
Result<std::optional<std::vector<To>>> get_array(const Metadata& metadata, std::string_view key,
                                                 std::string_view expected) {
  using Values = std::optional<std::vector<To>>;
  const MetaValue* value = metadata.find(key);
  if (value == nullptr) return Values();
  const auto* array = std::get_if<MetaArray>(value);
  if (array == nullptr) return wrong_kind(key, expected, *value);
  Values values = std::visit(
      [](const auto& from) -> Values {
        std::vector<To> to;
        to.reserve(from.size());
        for (const auto& element : from) {
          auto converted = convert<To, typename std::decay_t<decltype(from)>::value_type>(element);
          if (!converted) return std::nullopt;
          to.push_back(*converted);
        }
        return to;
      },
      *array);
  if (!values) return wrong_kind(key, expected, *value);
  return values;
}

std::string show(bool value) {
  return value ? "true" : "false";
}
std::string show(int64_t value) {
  return std::to_string(value);
}
std::string show(uint64_t value) {
  return std::to_string(value);
}
std::string show(double value) {
  return fmt::format("{:g}", value);
}
// One line, whatever the file contains: a chat template has hundreds.
std::string show(std::string_view value) {
  return '"' + shown(value, 80) + '"';
}

}  // namespace

bool Metadata::contains(std::string_view key) const {
  return entries_.find(key) != entries_.end();
}

const MetaValue* Metadata::find(std::string_view key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

void Metadata::set(std::string key, MetaValue value) {
  entries_.insert_or_assign(std::move(key), std::move(value));
}

Result<std::optional<bool>> Metadata::get_bool(std::string_view key) const {
  return get_scalar<bool>(*this, key, "a bool");
}

Result<std::optional<int64_t>> Metadata::get_int(std::string_view key) const {
  return get_scalar<int64_t>(*this, key, "an integer below 2^63");
}

Result<std::optional<double>> Metadata::get_double(std::string_view key) const {
  RZ_TRY(const auto value, get_scalar<double>(*this, key, "a number"));
  if (value && !std::isfinite(*value)) return wrong_kind(key, "a finite number", *find(key));
  return value;
}

Result<std::optional<std::string>> Metadata::get_string(std::string_view key) const {
  return get_scalar<std::string>(*this, key, "a string");
}

Result<std::optional<std::vector<bool>>> Metadata::get_bools(std::string_view key) const {
  return get_array<bool>(*this, key, "an array of bools");
}

Result<std::optional<std::vector<int64_t>>> Metadata::get_ints(std::string_view key) const {
  return get_array<int64_t>(*this, key, "an array of integers below 2^63");
}

Result<std::optional<std::vector<double>>> Metadata::get_doubles(std::string_view key) const {
  return get_array<double>(*this, key, "an array of numbers");
}

Result<std::optional<std::vector<std::string_view>>> Metadata::get_strings(std::string_view key) const {
  return get_array<std::string_view>(*this, key, "an array of strings");
}

std::string to_string(const MetaValue& value, size_t max_array_elems) {
  const auto* array = std::get_if<MetaArray>(&value);
  if (array == nullptr) {
    return std::visit(
        [](const auto& scalar) -> std::string {
          if constexpr (std::is_same_v<std::decay_t<decltype(scalar)>, MetaArray>) {
            return {};
          } else {
            return show(scalar);
          }
        },
        value);
  }
  return std::visit(
      [&](const auto& elements) {
        std::string text = "[";
        for (size_t i = 0; i < std::min(max_array_elems, elements.size()); ++i) {
          if (i > 0) text += ", ";
          text += show(elements[i]);
        }
        if (elements.size() <= max_array_elems) return text + "]";
        return text + fmt::format("{}...] ({} elements)", max_array_elems > 0 ? ", " : "", elements.size());
      },
      *array);
}

}  // namespace realizar
