// Declares the options of a command: rows of the table (command_table.h), made one by one. The values that options are
// read into must live until the command has run.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cli/command_table.h"
#include "cli/option_value.h"

namespace realizar::cli {

// The properties of an option other than its name and help.
class Option {
 public:
  explicit Option(OptionRow* row) : row_(row) {}

  Option& required();
  Option& with_default();                         // the help shows the initial value
  Option& with_default(const std::string& text);  // the help shows this text
  Option& in_range(double min, double max);       // both inclusive
  Option& at_least(double min);                   // inclusive
  Option& above(double min);                      // exclusive
  Option& above_and_at_most(double min, double max);
  Option& positive() { return above(0); }
  Option& one_of(const std::vector<std::string>& words);
  Option& separated_by(char comma);  // a list in one word; otherwise each use of the option adds a value
  Option& shown_as(const std::string& text);
  Option& file();        // its value is the name of a file,
  Option& folder();      // of a folder
  Option& short_name();  // a model, among others one of the table of short names,
  Option& reads();       // its value contains names of files that the command reads
  Option& written();     // its value is the name of a file that the command writes
  Option& common();      // shown by --help even if its group is advanced

  bool is_given() const { return !row_->given.empty(); }  // valid after parsing

 private:
  OptionRow* row_;
};

// The options of a command, or a group of them.
class Flags {
 public:
  explicit Flags(CommandRow* command) : command_(command) {}

  // `names`: "-t,--threads", or a word for a positional, which may also have names with dashes. T: a string, an
  // integer, a float, or a std::optional or std::vector of these.
  template <typename T>
  Option option(const std::string& names, T& value, const std::string& help) {
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
    name_positional(row);
    return Option(&row);
  }
  Option flag(const std::string& names, bool& value, const std::string& help);
  // A flag that makes the value false: "--no-...".
  Option flag_off(const std::string& names, bool& value, const std::string& help);

  Flags group(const std::string& title) const;
  // --help only shows those options of the group that are common(); --help-all shows all.
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
  static void name_positional(OptionRow& row);

  CommandRow* command_;
  std::string group_;
  bool is_advanced_ = false, is_for_gpu_ = false;
};

}  // namespace realizar::cli
