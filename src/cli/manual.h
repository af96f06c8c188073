// The manual page, in roff, made from the table of commands. docs/realizar.1 is its output, and a test keeps it so.
#pragma once

#include <string>
#include <string_view>

#include "cli/command_table.h"

namespace realizar::cli {

std::string manual_page(const CommandTable& table, std::string_view version);

}  // namespace realizar::cli
