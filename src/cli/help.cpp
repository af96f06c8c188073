#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace realizar::cli {
namespace {

constexpr size_t kHelpColumn = 28;

bool is_shown(const OptionRow& row, const HelpStyle& style) {
  return style.all || (row.is_common && (!row.is_for_gpu || style.has_gpu));
}

// "  -t, --threads N     Description in a separate column."
std::string entry(const std::string& left, const std::string& right, const HelpStyle& style) {
  const size_t column = std::min(kHelpColumn, style.n_columns / 2);
  std::string text = "  " + left;
  if (text.size() + 2 > column) {
    text += '\n' + std::string(column, ' ');
  } else {
    text.append(column - text.size(), ' ');
  }
  return text + wrapped(right, style.n_columns, column, column) + '\n';
}

std::string described(const OptionRow& row, std::string text) {
  std::vector<std::string> dashed;
  std::ranges::copy_if(row.names, std::back_inserter(dashed), [](const auto& name) { return name.starts_with('-'); });
  if (!row.positional_name().empty() && !dashed.empty()) text += fmt::format(" (also: {})", fmt::join(dashed, ", "));
  const auto is_mentioned = [&](const std::string& word) { return text.find(word) != std::string::npos; };
  if (!std::ranges::all_of(row.words, is_mentioned)) text += fmt::format(": {}", fmt::join(row.words, ", "));
  if (!row.shown_default.empty()) text += fmt::format(" (default: {})", row.shown_default);
  return text;
}

std::string description_in(const OptionRow& row, const HelpStyle& style) {
  return style.all ? description(row) : described(row, first_sentence(row.help));
}

std::string arguments_text(const CommandRow& command, const HelpStyle& style) {
  std::string text;
  for (const OptionRow& row : command.options) {
    if (!row.positional_name().empty()) text += entry(row.value, description_in(row, style), style);
  }
  return text.empty() ? "" : "\nArguments:\n" + text;
}

// `groups`: those whose options are listed under the title.
std::string options_text(const CommandRow& command, const std::vector<std::string>& groups, const HelpStyle& style,
                         const std::string& title) {
  std::string text;
  for (const OptionRow& row : command.options) {
    const bool is_in_group = std::ranges::find(groups, row.group) != groups.end();
    const bool is_here = is_in_group && row.positional_name().empty() && is_shown(row, style);
    if (is_here) text += entry(signature(row), description_in(row, style), style);
  }
  return text.empty() ? "" : '\n' + title + ":\n" + text;
}

size_t n_options(const CommandRow& command) {
  return static_cast<size_t>(
      std::ranges::count_if(command.options, [](const OptionRow& row) { return row.positional_name().empty(); }));
}

std::string examples_text(const CommandRow& command) {
  std::string text;
  for (const std::string& line : command.examples) text += "  " + line + '\n';
  return text.empty() ? "" : "\nExamples:\n" + text;
}

}  // namespace

std::string wrapped(std::string_view text, size_t n_columns, size_t indent, size_t at) {
  std::string result;
  size_t column = at;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool is_first = column == at && result.empty();
    if (!is_first && column + 1 + word.size() > n_columns) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!is_first) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string usage(const CommandRow& command) {
  std::string text = "realizar " + command.name;
  for (const OptionRow& row : command.options) {
    if (!row.positional_name().empty()) text += ' ' + row.value;
  }
  return text + " [OPTIONS]";
}

std::string signature(const OptionRow& row) {
  std::string text;
  for (const std::string& name : row.names) {
    if (!name.starts_with('-')) continue;
    if (text.empty() && name.starts_with("--")) text = "    ";
    text += (text.empty() || text == "    " ? "" : ", ") + name;
  }
  return row.is_flag() ? text : text + ' ' + row.value;
}

std::string description(const OptionRow& row) {
  return described(row, row.help);
}

std::vector<std::string> groups_of(const CommandRow& command) {
  std::vector<std::string> groups{""};
  for (const OptionRow& row : command.options) {
    if (std::find(groups.begin(), groups.end(), row.group) == groups.end()) groups.push_back(row.group);
  }
  return groups;
}

std::string command_help(const CommandRow& command, const CommandRow& common, const HelpStyle& style) {
  std::string text = "Usage: " + wrapped(usage(command), style.n_columns, 9, 7) + "\n\n";
  text += wrapped(command.help + '.', style.n_columns, 0) + '\n';
  text += arguments_text(command, style);
  const std::vector<std::string> groups = groups_of(command);
  if (!style.all) {
    const size_t n_all = n_options(command) + n_options(common);
    return text + options_text(command, groups, style, "Options") + examples_text(command) +
           fmt::format("\nrealizar {} --help-all lists all {} options.\n", command.name, n_all);
  }
  for (const std::string& group : groups) {
    text += options_text(command, {group}, style, group.empty() ? "Options" : group);
  }
  return text + options_text(common, {""}, style, "Every command") + examples_text(command);
}

std::string program_help(const CommandTable& table, const HelpStyle& style) {
  std::string text = "Usage: realizar COMMAND [ARGUMENTS] [OPTIONS]\n\n";
  text += wrapped(kProgramHelp, style.n_columns, 0) + "\n\nCommands:\n";
  for (const CommandRow& command : table.commands) {
    if (!command.is_hidden) text += entry(command.name, command.summary(), style);
  }
  text += options_text(table.common, {""}, style, "Options");
  text += examples_text(table.common);
  text += "\nrealizar COMMAND --help shows a command's options.\n" + wrapped(kExitCodes, style.n_columns, 0) + '\n';
  if (!style.all) return text;
  for (const CommandRow& command : table.commands) {
    if (!command.is_hidden) text += "\n\n" + command_help(command, table.common, style);
  }
  return text;
}

}  // namespace realizar::cli
