// Reads words into the values of a command's options. Each error is one line for the person who typed the words.
//
// This is not CLI11. That takes -ngl 99 for -n gl, -model for -m odel, any word for the value that an option lacks,
// and of "--name=" the next one. It places positionals before it knows what is named as an option, and reads 010 as 8.
// Its errors are sentences, which tell neither the option nor its value. Words would have to be split, matched and
// checked before it sees them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command_table.h"
#include "realizar/result.h"

namespace realizar::cli {

// Fills OptionRow::given of the command's options and of the common ones. Gives what is to be said of words that have
// no effect, one line each. Errors: InvalidArgument.
Result<std::vector<std::string>> collect_words(CommandRow& command, CommandRow& common,
                                               std::span<const std::string> words);

// Reads what was given into the values. Errors: InvalidArgument (a value of the wrong kind or out of range; an option
// that is required and not given; what the command finds wrong with its options together).
Status apply_values(CommandRow& command, CommandRow& common);

}  // namespace realizar::cli
