// Declares the options of a command: rows of the table (command_table.h), made one by one. The values that options are
// read into must live until the command has run.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "cli/command_table.h"
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

// The names that an option's value is or contains.
enum class Takes : uint8_t {
  kText,
  kFile,        // the name of a file
  kNewFile,     // of a file that the command writes
  kFileInside,  // a text with names of files that the command reads
  kFolder,
  kShortName,  // a model, possibly one of the table of short names
};
using enum Takes;

// The properties of an option other than its name and help.
struct OptionTraits {
  NumberRange range = {.min = -std::numeric_limits<double>::infinity()};
  std::vector<std::string> one_of = {};
  std::string shown_as = {};       // the placeholder of its value in the help; "": by the value's type
  std::string shown_default = {};  // shown in the help
  bool has_default = false;        // the help shows the initial value
  bool is_required = false;
  bool is_common = false;  // shown by --help even if its group is advanced
  char separator = 0;      // of a list in one word; 0: each use of the option adds a value
  Takes takes = kText;
};
inline constexpr NumberRange kPositive = {.min = 0, .above = true};

// A declared option.
class Option {
 public:
  explicit Option(const OptionRow* row) : row_(row) {}
  bool is_given() const { return !row_->given.empty(); }  // valid after parsing

 private:
  const OptionRow* row_;
};

// The options of a command, or a group of them.
class Flags {
 public:
  explicit Flags(CommandRow* command) : command_(command) {}

  // `names`: "-t,--threads", or a word for a positional, which may also have names with dashes. T: a string, an
  // integer, a float, or a std::optional or std::vector of these.
  template <typename T>
  Option option(const std::string& names, T& value, const std::string& help, const OptionTraits& option_traits = {}) {
    OptionRow& row = add(names, help);
    row.value = value_name(value);
    if constexpr (std::is_enum_v<T>) {
      for (const auto& named : option_names(value)) row.words.emplace_back(named.name);
    }
    row.is_list = is_list_type<T>;
    row.max_values = row.is_list ? kAnyNumber : 1;
    if constexpr (is_list_type<T>) row.clear = [&value] { value.clear(); };
    row.read = [&value](const std::string& text) { return read_value(text, value); };
    row.values = [&value] { return value_texts(value); };
    apply(option_traits, row);
    return Option(&row);
  }
  void flag(const std::string& names, bool& value, const std::string& help, const OptionTraits& option_traits = {});
  // A flag that makes the value false: "--no-...".
  void flag_off(const std::string& names, bool& value, const std::string& help);

  Flags group(const std::string& title) const;
  // --help only shows those options of the group that are common; --help-all shows all.
  Flags advanced() const;
  // Options that only apply to GPUs; a program built without CUDA does not show them.
  Flags for_gpu() const;

  // The first option of these groups that was given, after parsing; "": none.
  std::string first_given(std::span<const std::string_view> groups) const;

  Flags& examples(const std::vector<std::string>& lines);
  Flags& hidden();

  // `command` does its work and returns the exit code, or an error to print. `complaint` reports problems with the
  // combination of options; empty: none.
  void runs(std::function<Result<int>()> command, std::function<std::string()> complaint = {});

 private:
  OptionRow& add(const std::string& names, const std::string& help);
  static void apply(const OptionTraits& option_traits, OptionRow& row);

  CommandRow* command_;
  std::string group_;
  bool is_advanced_ = false, is_for_gpu_ = false;
};

}  // namespace realizar::cli
