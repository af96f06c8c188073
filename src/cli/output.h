// Standard output and error as a well-behaved program uses them: every write is checked, errors are one line.
#pragma once

#include <string_view>

#include "realizar/result.h"

namespace realizar::cli {

// Writes and flushes; false once standard output cannot be written (full disk, closed pipe). The reason is printed
// once.
bool print(std::string_view text);
bool print_line(std::string_view text);

// One line on standard error: "realizar: FormatError: message". Gives kFailure.
int fail(const Error& error);
// "realizar: message" on standard error.
void warn(std::string_view message);

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

}  // namespace realizar::cli
