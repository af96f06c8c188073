// The options of one command in a file: "name = value" per line, the name without its dashes, one line for each value
// of a list. "#" begins a comment line. A value in double quotes is a JSON string, for values that do not fit in a line
// otherwise.
#pragma once

#include <string>
#include <string_view>

#include "cli/command_table.h"
#include "realizar/result.h"

namespace realizar::cli {

// Every option with its value, in the form that read_config accepts; options without a value as comments.
std::string config_text(const CommandRow& command);

// Fills OptionRow::given of options without a value yet: the command line takes precedence over the file. `where` names
// the file in messages. Errors: InvalidArgument (names the line).
Status read_config(CommandRow& command, std::string_view text, std::string_view where);

}  // namespace realizar::cli
