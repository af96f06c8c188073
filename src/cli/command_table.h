// Commands and their options as data: the parser fills them, and the help, shell completion, the manual page and
// --print-config are all made from them. A row's closures point at the values that its command reads.
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

// Where a number must lie. Each bound itself belongs to the range, unless `above` says that the lower one does not.
struct NumberRange {
  double min = 0, max = std::numeric_limits<double>::infinity();
  bool above = false;
};

enum class Completes : uint8_t { kNothing, kFile, kFolder, kShortName };

struct OptionRow {
  std::vector<std::string> names;  // "-t", "--threads"; a name without dashes makes it a positional
  std::string help, group;         // group: its heading in the help; empty: "Options"
  std::string value;               // stands for its value in the help: "N", "FILE"; empty: a flag, which takes none
  std::string shown_default;       // empty: the help shows none
  std::vector<std::string> words;  // all values that it takes; empty: any
  std::optional<NumberRange> range;
  Completes completes = Completes::kNothing;
  char separator = 0;                        // between the values of a list in one word
  size_t max_values = 1;                     // that may be given
  bool is_read = false, is_written = false;  // the files that it names
  bool is_list = false, is_required = false, is_common = true, is_for_gpu = false;

  std::function<void()> clear;                               // of a list, before its first value is read
  std::function<std::string(const std::string& text)> read;  // gives what is wrong with the text; empty: nothing
  std::function<std::vector<std::string>()> values;          // what is there, as texts

  std::vector<std::string> given;  // the texts from the command line or the file of --config

  bool is_flag() const { return value.empty(); }
  bool has_name(std::string_view name) const;
  // "--threads", or the positional's name.
  const std::string& main_name() const;
  // Empty where it is no positional.
  std::string positional_name() const;
};

// The text before the first ". ", other than that of "e.g. ".
std::string first_sentence(const std::string& text);

struct CommandRow {
  std::string name, help;  // help: its first sentence is what lists of commands show
  bool is_hidden = false;
  std::vector<std::string> examples;
  std::deque<OptionRow> options;           // a deque, since handles point at the rows
  std::function<Result<int>()> run;        // gives the exit code, or an error that is to be printed
  std::function<std::string()> complaint;  // what is wrong with the options together; empty: nothing

  OptionRow* find(std::string_view option_name);
  std::string summary() const { return first_sentence(help); }
};

// The commands, and the options that each of them has.
struct CommandTable {
  std::deque<CommandRow> commands;
  CommandRow common;

  CommandRow* find(std::string_view command_name);
};

}  // namespace realizar::cli
