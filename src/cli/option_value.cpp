#include "cli/option_value.h"

#include <fmt/format.h>

#include "api/adapter_source.h"

namespace realizar::cli {
std::string read_value(const std::string& text, std::string& value) {
  value = text;
  return "";
}

std::string read_value(const std::string& text, bool& value) {
  if (text != "true" && text != "false") return "must be true or false";
  value = text == "true";
  return "";
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

}  // namespace realizar::cli
