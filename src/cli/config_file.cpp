#include "cli/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/printable.h"
#include "base/suggest.h"
#include "base/try.h"

namespace realizar::cli {
namespace {

std::string config_name(const OptionRow& row) {
  const std::string& name = row.main_name();
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

std::string quoted_where_needed(const std::string& value) {
  const bool is_plain = !value.empty() && value[0] != '"' && trimmed(value) == value &&
                        std::none_of(value.begin(), value.end(), [](char c) { return c == '\n' || c == '\r'; });
  return is_plain ? value : nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::string> unquoted(std::string_view value) {
  if (!value.starts_with('"')) return std::string(value);
  const auto json = nlohmann::json::parse(value, nullptr, false);
  if (!json.is_string()) return invalid_argument("the quotes do not hold a JSON string");
  return json.get<std::string>();
}

OptionRow* find_named(CommandRow& command, std::string_view name) {
  const auto found = std::find_if(command.options.begin(), command.options.end(),
                                  [&](const OptionRow& row) { return config_name(row) == name; });
  return found == command.options.end() ? nullptr : &*found;
}

std::vector<std::string> all_names(const CommandRow& command) {
  std::vector<std::string> names;
  for (const OptionRow& row : command.options) names.push_back(config_name(row));
  return names;
}

// `from_file`: the options set by the file so far.
Status read_line(CommandRow& command, std::string_view line, std::set<OptionRow*>& from_file) {
  const size_t sign = line.find('=');
  if (sign == std::string_view::npos) return invalid_argument("expected NAME = VALUE");
  const std::string name(trimmed(line.substr(0, sign)));
  OptionRow* row = find_named(command, name);
  if (row == nullptr) {
    return invalid_argument(
        fmt::format("{} has no option '{}'{}", command.name, printable(name), did_you_mean(name, all_names(command))));
  }
  RZ_TRY(std::string value, unquoted(trimmed(line.substr(sign + 1))));
  const bool is_again = from_file.contains(row);
  if (is_again && !row->is_list) return invalid_argument(fmt::format("'{}' is given twice", name));
  if (!is_again && !row->given.empty()) return {};
  from_file.insert(row);
  row->given.push_back(std::move(value));
  return {};
}

}  // namespace

std::string config_text(const CommandRow& command) {
  std::string text = fmt::format("# Options of realizar {0}; realizar {0} --config FILE reads them.\n", command.name);
  for (const OptionRow& row : command.options) {
    const auto values = row.values();
    if (values.empty()) {
      text += fmt::format("# {} =\n", config_name(row));
    } else if (row.separator != 0) {
      text += fmt::format("{} = {}\n", config_name(row), fmt::join(values, std::string(1, row.separator)));
    } else {
      for (const auto& value : values) text += fmt::format("{} = {}\n", config_name(row), quoted_where_needed(value));
    }
  }
  return text;
}

Status read_config(CommandRow& command, std::string_view text, std::string_view where) {
  std::set<OptionRow*> from_file;
  for (size_t line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    if (const Status status = read_line(command, line, from_file); !status.ok()) {
      return invalid_argument(fmt::format("{}:{}: {}", where, line_number, status.error().message));
    }
  }
  return {};
}

}  // namespace realizar::cli
