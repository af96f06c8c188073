#include "cli/command_table.h"

#include <algorithm>

namespace realizar::cli {

bool OptionRow::has_name(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const std::string& OptionRow::main_name() const {
  const auto is_long = [](const std::string& name) { return name.starts_with("--"); };
  const auto is_plain = [](const std::string& name) { return !name.starts_with('-'); };
  auto found = std::find_if(names.begin(), names.end(), is_plain);
  if (found == names.end()) found = std::find_if(names.begin(), names.end(), is_long);
  return found == names.end() ? names.front() : *found;
}

std::string OptionRow::positional_name() const {
  const std::string& name = main_name();
  return name.starts_with('-') ? "" : name;
}

std::string first_sentence(const std::string& text) {
  size_t end = text.find(". ");
  while (end != std::string::npos && text.substr(0, end).ends_with("e.g")) end = text.find(". ", end + 1);
  return text.substr(0, end);
}

OptionRow* CommandRow::find(std::string_view option_name) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const OptionRow& row) {
    return option_name.starts_with('-') && row.has_name(option_name);
  });
  return found == options.end() ? nullptr : &*found;
}

CommandRow* CommandTable::find(std::string_view command_name) {
  const auto found =
      std::find_if(commands.begin(), commands.end(), [&](const CommandRow& row) { return row.name == command_name; });
  return found == commands.end() ? nullptr : &*found;
}

}  // namespace realizar::cli
