// From words to the values of a command's options. Each error is one line for the person who typed the words.
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
