#include "cli/option_value.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "api/adapter_source.h"

namespace realizar::cli {
namespace {

template <class T>
std::string read_whole(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && at == end) return "";
  const bool is_number = !text.empty() && text.find_first_not_of("-0123456789") == std::string::npos;
  if (!is_number) return "must be a whole number";
  return fmt::format("must be a whole number from {} to {}", std::numeric_limits<T>::min(),
                     std::numeric_limits<T>::max());
}

template <class T>
std::string read_finite(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end && std::isfinite(value) ? "" : "must be a number";
}

}  // namespace

std::string read_value(const std::string& text, std::string& value) {
  value = text;
  return "";
}

std::string read_value(const std::string& text, bool& value) {
  if (text != "true" && text != "false") return "must be true or false";
  value = text == "true";
  return "";
}

std::string read_value(const std::string& text, uint16_t& value) {
  return read_whole(text, value);
}
std::string read_value(const std::string& text, uint32_t& value) {
  return read_whole(text, value);
}
std::string read_value(const std::string& text, uint64_t& value) {
  return read_whole(text, value);
}
std::string read_value(const std::string& text, int32_t& value) {
  return read_whole(text, value);
}

std::string read_value(const std::string& text, float& value) {
  return read_finite(text, value);
}
std::string read_value(const std::string& text, double& value) {
  return read_finite(text, value);
}

std::string read_value(const std::string& text, AdapterSource& value) {
  auto source = parse_adapter(text);
  if (!source.ok()) return "must be [NAME=]PATH[:SCALE]";
  value = std::move(*source);
  return "";
}

std::vector<std::string> value_texts(const AdapterSource& value) {
  return {fmt::format("{}={}:{}", value.name, value.path, value.scale)};
}

std::vector<std::string> value_texts(const std::string& value) {
  return value.empty() ? std::vector<std::string>() : std::vector<std::string>{value};
}
std::vector<std::string> value_texts(bool value) {
  return {value ? "true" : "false"};
}
std::vector<std::string> value_texts(uint64_t value) {
  return {std::to_string(value)};
}
std::vector<std::string> value_texts(int32_t value) {
  return {std::to_string(value)};
}
std::vector<std::string> value_texts(float value) {
  return {fmt::format("{}", value)};
}
std::vector<std::string> value_texts(double value) {
  return {fmt::format("{}", value)};
}

}  // namespace realizar::cli
