// Values of options to and from text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "realizar/options.h"

namespace realizar::cli {

// What is wrong with `text` as a value of this type, e.g. "must be a whole number"; empty: nothing, and `value` has it.
std::string read_value(const std::string& text, std::string& value);
std::string read_value(const std::string& text, bool& value);
std::string read_value(const std::string& text, uint16_t& value);
std::string read_value(const std::string& text, uint32_t& value);
std::string read_value(const std::string& text, uint64_t& value);
std::string read_value(const std::string& text, int32_t& value);
std::string read_value(const std::string& text, float& value);
std::string read_value(const std::string& text, double& value);
// As parse_adapter.
std::string read_value(const std::string& text, AdapterSource& value);

// Reads the name of an enum's value. The check of an option's words tells which names there are.
template <class Enum>
requires std::is_enum_v<Enum> std::string read_value(const std::string& text, Enum& value) {
  const auto named = option_value<Enum>(text);
  if (!named) return "is none of its values";
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

// The texts that read_value would take; none where there is no value.
std::vector<std::string> value_texts(const std::string& value);
std::vector<std::string> value_texts(bool value);
std::vector<std::string> value_texts(uint64_t value);
std::vector<std::string> value_texts(int32_t value);
std::vector<std::string> value_texts(float value);
std::vector<std::string> value_texts(double value);
std::vector<std::string> value_texts(const AdapterSource& value);
template <class Enum>
requires std::is_enum_v<Enum> std::vector<std::string> value_texts(Enum value) {
  return {std::string(option_name(value))};
}
inline std::vector<std::string> value_texts(uint16_t value) {
  return value_texts(uint64_t{value});
}
inline std::vector<std::string> value_texts(uint32_t value) {
  return value_texts(uint64_t{value});
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

// What stands for such a value in a help text: "TEXT", "N", "X"; nothing for a flag.
inline const char* value_name(const std::string&) {
  return "TEXT";
}
inline const char* value_name(float) {
  return "X";
}
inline const char* value_name(double) {
  return "X";
}
inline const char* value_name(uint64_t) {
  return "N";
}
inline const char* value_name(uint32_t) {
  return "N";
}
inline const char* value_name(uint16_t) {
  return "N";
}
inline const char* value_name(int32_t) {
  return "N";
}
inline const char* value_name(const AdapterSource&) {
  return "[NAME=]PATH[:SCALE]";
}
template <class Enum>
requires std::is_enum_v<Enum>
const char* value_name(Enum) {
  return "NAME";
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
