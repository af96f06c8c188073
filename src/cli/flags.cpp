#include "cli/flags.h"

#include <algorithm>
#include <utility>

namespace realizar::cli {
namespace {

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

}  // namespace

Option& Option::required() {
  row_->is_required = true;
  if (row_->value.starts_with('[')) row_->value = row_->value.substr(1, row_->value.size() - 2);
  return *this;
}

Option& Option::with_default() {
  const auto texts = row_->values();
  row_->shown_default = texts.empty() ? "" : texts.front();
  return *this;
}

Option& Option::with_default(const std::string& text) {
  row_->shown_default = text;
  return *this;
}

Option& Option::in_range(double min, double max) {
  row_->range = {min, max, false};
  return *this;
}

Option& Option::at_least(double min) {
  row_->range = {.min = min};
  return *this;
}

Option& Option::above(double min) {
  row_->range = {.min = min, .above = true};
  return *this;
}

Option& Option::above_and_at_most(double min, double max) {
  row_->range = {min, max, true};
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& words) {
  row_->words = words;
  return *this;
}

Option& Option::separated_by(char comma) {
  row_->separator = comma;
  return *this;
}

Option& Option::shown_as(const std::string& text) {
  row_->value = text;
  return *this;
}

Option& Option::file() {
  row_->completes = Completes::kFile;
  row_->is_read = true;
  if (row_->value == "TEXT") row_->value = "FILE";
  return *this;
}

Option& Option::reads() {
  row_->is_read = true;
  return *this;
}

Option& Option::written() {
  file();
  row_->is_written = true;
  return *this;
}

Option& Option::folder() {
  row_->completes = Completes::kFolder;
  if (row_->value == "TEXT") row_->value = "FOLDER";
  return *this;
}

Option& Option::short_name() {
  row_->completes = Completes::kShortName;
  return *this;
}

Option& Option::common() {
  row_->is_common = true;
  return *this;
}

OptionRow& Flags::add(const std::string& names, const std::string& help) {
  OptionRow& row = command_->options.emplace_back();
  row.help = help;
  row.group = group_;
  row.is_common = !is_advanced_;
  row.is_for_gpu = is_for_gpu_;
  size_t begin = 0;
  for (size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = names.find(',', begin);
    row.names.push_back(names.substr(begin, end - begin));
  }
  return row;
}

void Flags::name_positional(OptionRow& row) {
  const std::string name = row.positional_name();
  if (!name.empty()) row.value = '[' + upper_case(name) + (row.is_list ? "..." : "") + ']';
}

Option Flags::flag(const std::string& names, bool& value, const std::string& help) {
  OptionRow& row = add(names, help);
  row.read = [&value](const std::string& text) { return read_value(text, value); };
  row.values = [&value] { return value_texts(value); };
  return Option(&row);
}

Option Flags::flag_off(const std::string& names, bool& value, const std::string& help) {
  OptionRow& row = add(names, help);
  row.read = [&value](const std::string& text) {
    bool is_off = false;
    std::string wrong = read_value(text, is_off);
    if (wrong.empty()) value = !is_off;
    return wrong;
  };
  row.values = [&value] { return value_texts(!value); };
  return Option(&row);
}

Flags Flags::group(const std::string& title) const {
  Flags group = *this;
  group.group_ = title;
  return group;
}

Flags Flags::advanced() const {
  Flags advanced = *this;
  advanced.is_advanced_ = true;
  return advanced;
}

Flags Flags::for_gpu() const {
  Flags for_gpu = *this;
  for_gpu.is_for_gpu_ = true;
  return for_gpu;
}

std::string Flags::first_given(std::span<const std::string_view> groups) const {
  for (const OptionRow& row : command_->options) {
    const bool is_of_groups = std::ranges::find(groups, row.group) != groups.end();
    if (is_of_groups && !row.given.empty()) return row.main_name();
  }
  return "";
}

Flags& Flags::examples(const std::vector<std::string>& lines) {
  command_->examples = lines;
  return *this;
}

Flags& Flags::hidden() {
  command_->is_hidden = true;
  return *this;
}

void Flags::runs(std::function<Result<int>()> command, std::function<std::string()> complaint) {
  command_->run = std::move(command);
  command_->complaint = std::move(complaint);
}

}  // namespace realizar::cli
