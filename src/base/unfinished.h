// Names of files and folders that are being written. They lie beside the place that they will take, as
// ".NAME.<16 random hexadecimal digits>.part": two writers never have the same name, whatever their thread, container
// or machine. A writer holds a lock (flock) on what it writes, and the kernel takes that lock away from a killed one: a
// name that can be locked is abandoned.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "base/files.h"
#include "realizar/result.h"

namespace realizar {

// A new name for what will be `path`, in the same folder.
std::filesystem::path unfinished_path(const std::filesystem::path& path);

// Whether a file's name is one of those, for whatever path.
bool is_unfinished_name(std::string_view name);

// Locks a file or folder that this writer has just made under such a name; the lock lasts as long as `fd` is open.
// False where a sweep took it first: then another one must be made. A file system without locks gives true, and none of
// its files is ever found abandoned.
bool hold_unfinished(const FileDescriptor& fd);

// Calls `remove` for everything in `folder` that a writer abandoned. Errors: the first one of `remove`, after all were
// tried. A folder that cannot be read has nothing.
Status remove_abandoned(const std::filesystem::path& folder,
                        const std::function<Status(const std::filesystem::path&)>& remove);

// Removes the files and folders that writers of this path abandoned, as far as this process may.
void remove_abandoned_of(const std::filesystem::path& path);

}  // namespace realizar
