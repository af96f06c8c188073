// Parses words into the values of a command's options. Each error is one line for the user who typed the words.
//
// CLI11 is not used: it parses -ngl 99 as -n gl, -model as -m odel, takes any word for an option's missing value, and
// for "--name=" the next word. It assigns positionals before it knows which words are values of options, and reads 010
// as 8. Its errors are sentences that name neither the option nor its value. Words would have to be split, matched and
// checked before it sees them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_table.h"
#include "realizar/result.h"

namespace realizar::cli {

// Fills OptionRow::given of the command's options and of the common ones. Returns a line for each word without effect.
// Errors: InvalidArgument.
Result<std::vector<std::string>> collect_words(CommandRow& command, CommandRow& common,
                                               std::span<const std::string> words);

// Converts the given words to values. Errors: InvalidArgument (a value of the wrong type or out of range; a required
// option that is missing; the command's complaint about the combination).
Status apply_values(CommandRow& command, CommandRow& common);

// The options of one command in a file: "name = value" per line, the name without its dashes, one line for each value
// of a list. "#" begins a comment line. A value in double quotes is a JSON string, for values that do not fit in a line
// otherwise.

// Every option with its value, in the form that read_config accepts; options without a value as comments.
std::string config_text(const CommandRow& command);

// Fills OptionRow::given of options without a value yet: the command line takes precedence over the file. `where` names
// the file in messages. Errors: InvalidArgument (names the line).
Status read_config(CommandRow& command, std::string_view text, std::string_view where);

}  // namespace realizar::cli
