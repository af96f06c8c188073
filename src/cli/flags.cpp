#include "cli/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/adapter_source.h"

namespace realizar::cli {
namespace {}  // namespace

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

void Flags::apply(const OptionTraits& option_traits, OptionRow& row) {
  const Takes takes = option_traits.takes;
  if (std::string name = row.positional_name(); !name.empty()) {
    const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
    std::ranges::transform(name, name.begin(), upper);
    row.value = '[' + name + (row.is_list ? "..." : "") + ']';
  }
  row.is_required = option_traits.is_required;
  if (row.is_required && row.value.starts_with('[')) row.value = row.value.substr(1, row.value.size() - 2);
  row.is_read = takes == kFile || takes == kNewFile || takes == kFileInside;
  row.is_written = takes == kNewFile;
  if (takes == kFile || takes == kNewFile) row.completes = Completes::kFile;
  if (takes == kFolder) row.completes = Completes::kFolder;
  if (takes == kShortName) row.completes = Completes::kShortName;
  if (row.value == "TEXT" && row.completes == Completes::kFile) row.value = "FILE";
  if (row.value == "TEXT" && row.completes == Completes::kFolder) row.value = "FOLDER";
  if (!option_traits.shown_as.empty()) row.value = option_traits.shown_as;
  row.shown_default = option_traits.shown_default;
  if (const auto texts = row.values(); option_traits.has_default && !texts.empty()) row.shown_default = texts.front();
  if (std::isfinite(option_traits.range.min)) row.range = option_traits.range;
  row.words.insert(row.words.end(), option_traits.one_of.begin(), option_traits.one_of.end());
  row.separator = option_traits.separator;
  if (option_traits.is_common) row.is_common = true;
}

void Flags::flag(const std::string& names, bool& value, const std::string& help, const OptionTraits& option_traits) {
  OptionRow& row = add(names, help);
  row.read = [&value](const std::string& text) { return read_value(text, value); };
  row.values = [&value] { return value_texts(value); };
  apply(option_traits, row);
}

void Flags::flag_off(const std::string& names, bool& value, const std::string& help) {
  OptionRow& row = add(names, help);
  row.read = [&value](const std::string& text) {
    bool is_off = false;
    std::string wrong = read_value(text, is_off);
    if (wrong.empty()) value = !is_off;
    return wrong;
  };
  row.values = [&value] { return value_texts(!value); };
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
