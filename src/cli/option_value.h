// Conversion of option values to and from text.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "realizar/options.h"

namespace realizar::cli {

// The problem with `text` as a value of this type, e.g. "must be a whole number"; empty: none, and `value` is set.
std::string read_value(const std::string& text, std::string& value);
std::string read_value(const std::string& text, bool& value);
// Parsed like parse_adapter.
std::string read_value(const std::string& text, AdapterSource& value);

template <class Number>
requires std::is_arithmetic_v<Number> std::string read_value(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  const bool is_read = error == std::errc() && at == end;
  if constexpr (std::is_floating_point_v<Number>) return is_read && std::isfinite(value) ? "" : "must be a number";
  if (is_read) return "";
  const bool is_number = !text.empty() && text.find_first_not_of("-0123456789") == std::string::npos;
  if (!is_number) return "must be a whole number";
  using Limits = std::numeric_limits<Number>;
  return fmt::format("must be a whole number from {} to {}", Limits::min(), Limits::max());
}

// Reads the name of an enum's value. The option's list of words validates the name.
template <class Enum>
requires std::is_enum_v<Enum> std::string read_value(const std::string& text, Enum& value) {
  const auto named = option_value<Enum>(text);
  if (!named) return "is not one of its values";
  value = *named;
  return "";
}

template <class T>
std::string read_value(const std::string& text, std::optional<T>& value) {
  return read_value(text, value.emplace());
}
template <class T>
std::string read_value(const std::string& text, std::vector<T>& values) {
  return read_value(text, values.emplace_back());
}

// Texts that read_value would accept; empty if there is no value.
std::vector<std::string> value_texts(const std::string& value);
std::vector<std::string> value_texts(const AdapterSource& value);
template <class Number>
requires std::is_arithmetic_v<Number> std::vector<std::string> value_texts(Number value) {
  return {fmt::format("{}", value)};
}
template <class Enum>
requires std::is_enum_v<Enum> std::vector<std::string> value_texts(Enum value) {
  return {std::string(option_name(value))};
}
template <class T>
std::vector<std::string> value_texts(const std::optional<T>& value) {
  return value ? value_texts(*value) : std::vector<std::string>();
}
template <class T>
std::vector<std::string> value_texts(const std::vector<T>& values) {
  std::vector<std::string> texts;
  for (const T& value : values) {
    for (std::string& text : value_texts(value)) texts.push_back(std::move(text));
  }
  return texts;
}

// The placeholder for such a value in a help text.
template <class T>
const char* value_name(const T&) {
  if constexpr (std::is_same_v<T, AdapterSource>) return "[NAME=]PATH[:SCALE]";
  if constexpr (std::is_enum_v<T>) return "NAME";
  if constexpr (std::is_integral_v<T>) return "N";
  return std::is_floating_point_v<T> ? "X" : "TEXT";
}
template <class T>
const char* value_name(const std::optional<T>&) {
  return value_name(T());
}
template <class T>
const char* value_name(const std::vector<T>&) {
  return value_name(T());
}

template <class T>
constexpr bool is_list_type = false;
template <class T>
inline constexpr bool is_list_type<std::vector<T>> = true;

}  // namespace realizar::cli
