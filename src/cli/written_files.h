// No command writes over what it reads.
#pragma once

#include "cli/command_table.h"
#include "realizar/result.h"

namespace realizar::cli {

// Compares what the command writes (Option::written) with each file that its other options, and those of all commands,
// name: files, all parts of a model, a model's name in the store, what may be read below a folder. Errors:
// InvalidArgument, where one would be replaced, or written twice.
Status check_written_files(const CommandRow& command, const CommandRow& common);

}  // namespace realizar::cli
