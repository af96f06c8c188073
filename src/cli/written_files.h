// Ensures that no command overwrites its input.
#pragma once

#include "cli/command_table.h"
#include "realizar/result.h"

namespace realizar::cli {

// Compares the command's outputs (Option::written) with each file that its other options, and the common ones, name:
// files, all parts of a model, a model's name in the store, files that may be read below a folder. Errors:
// InvalidArgument if one would be replaced, or written twice.
Status check_written_files(const CommandRow& command, const CommandRow& common);

}  // namespace realizar::cli
