// How a command says what options it has: rows of the table (command_table.h), made one by one. The values that the
// options are read into must live until the command has run.
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

// What an option has besides its name and help.
class Option {
 public:
  explicit Option(OptionRow* row) : row_(row) {}

  Option& required();
  Option& with_default();                         // the help shows the value from before parsing
  Option& with_default(const std::string& text);  // the help shows this
  Option& in_range(double min, double max);       // both included
  Option& at_least(double min);                   // included
  Option& above(double min);                      // not included
  Option& above_and_at_most(double min, double max);
  Option& positive() { return above(0); }
  Option& one_of(const std::vector<std::string>& words);
  Option& separated_by(char comma);  // a list in one word; else it grows by a value each time the option is given
  Option& shown_as(const std::string& text);
  Option& file();        // its value is the name of a file,
  Option& folder();      // of a folder
  Option& short_name();  // a model of the table of short names, among others,
  Option& reads();       // its value names files that the command reads, among other words
  Option& written();     // its value is the name of a file that the command writes
  Option& common();      // shown by --help, though its group is advanced

  bool is_given() const { return !row_->given.empty(); }  // once parsed

 private:
  OptionRow* row_;
};

// The options of one command, or a group of them.
class Flags {
 public:
  explicit Flags(CommandRow* command) : command_(command) {}

  // `names`: "-t,--threads", or a word for a positional, which may have dashed names as well. T: a string, an integer,
  // a float, std::optional or std::vector of such.
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
  // --help shows only those of the group's options that are common(); --help-all shows all.
  Flags advanced() const;
  // Options that mean something on a GPU alone; a program built without CUDA does not show them.
  Flags for_gpu() const;

  // The first option of these groups that was given, once parsed; "": none was.
  std::string first_given(std::span<const std::string_view> groups) const;

  Flags& examples(const std::vector<std::string>& lines);
  Flags& hidden();

  // `command` does its work and gives the exit code, or an error that is printed. `complaint` says whether something is
  // wrong with the options together; an empty text: nothing.
  void runs(std::function<Result<int>()> command, std::function<std::string()> complaint = {});

 private:
  OptionRow& add(const std::string& names, const std::string& help);
  static void name_positional(OptionRow& row);

  CommandRow* command_;
  std::string group_;
  bool is_advanced_ = false, is_for_gpu_ = false;
};

}  // namespace realizar::cli
