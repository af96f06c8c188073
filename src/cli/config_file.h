// The options of one command as a file: "name = value" a line, the name without its dashes, a list's values one a line.
// "#" begins a line of comment. A value in double quotes is a JSON string, for what a line cannot hold otherwise.
#pragma once

#include <string>
#include <string_view>

#include "cli/command_table.h"
#include "realizar/result.h"

namespace realizar::cli {

// Every option with its value, in the form that read_config takes; those without one as comments.
std::string config_text(const CommandRow& command);

// Fills OptionRow::given of options that have none yet: the command line goes before the file. `where` names the file
// in messages. Errors: InvalidArgument (names the line).
Status read_config(CommandRow& command, std::string_view text, std::string_view where);

}  // namespace realizar::cli
