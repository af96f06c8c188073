// Commands and their options as data: the parser fills them, and the help, shell completion, the manual page and
// --print-config are all generated from them. A row's closures refer to the values that its command reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::cli {

constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

// The range of a number. Each bound is included, unless `above` excludes the lower one.
struct NumberRange {
  double min = 0, max = std::numeric_limits<double>::infinity();
  bool above = false;
};

enum class Completes : uint8_t { kNothing, kFile, kFolder, kShortName };

struct OptionRow {
  std::vector<std::string> names;  // "-t", "--threads"; a name without dashes makes it a positional
  std::string help, group;         // group: its heading in the help; empty: "Options"
  std::string value;               // placeholder for its value in the help: "N", "FILE"; empty: a flag without a value
  std::string shown_default;       // empty: not shown in the help
  std::vector<std::string> words;  // all permitted values; empty: any
  std::optional<NumberRange> range;
  Completes completes = Completes::kNothing;
  char separator = 0;                        // separates the values of a list in one word
  size_t max_values = 1;                     // maximum number of values
  bool is_read = false, is_written = false;  // whether the command reads or writes the files that it names
  bool is_list = false, is_required = false, is_common = true, is_for_gpu = false;

  std::function<void()> clear;                               // for a list, called before its first value is read
  std::function<std::string(const std::string& text)> read;  // returns the problem with the text; empty: none
  std::function<std::vector<std::string>()> values;          // the current values as text

  std::vector<std::string> given;  // values from the command line or the file of --config

  bool is_flag() const { return value.empty(); }
  bool has_name(std::string_view name) const;
  // "--threads", or the positional's name.
  const std::string& main_name() const;
  // Empty unless it is a positional.
  std::string positional_name() const;
};

// The text before the first ". ", ignoring that of "e.g. ".
std::string first_sentence(const std::string& text);

struct CommandRow {
  std::string name, help;  // help: lists of commands show its first sentence
  bool is_hidden = false;
  std::vector<std::string> examples;
  std::deque<OptionRow> options;           // a deque, since handles point at the rows
  std::function<Result<int>()> run;        // returns the exit code, or an error to print
  std::function<std::string()> complaint;  // problems with the combination of options; empty: none

  OptionRow* find(std::string_view option_name);
  std::string summary() const { return first_sentence(help); }
};

// The commands, and the options common to all of them.
struct CommandTable {
  std::deque<CommandRow> commands;
  CommandRow common;

  CommandRow* find(std::string_view command_name);
};

}  // namespace realizar::cli
