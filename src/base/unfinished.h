// Names of files and folders that are being written. They are in the folder of the final path, named
// ".NAME.<16 random hexadecimal digits>.part": two writers never have the same name, whatever their thread, container
// or machine. A writer holds a lock (flock) on its file, and the kernel releases the lock when the writer is killed: a
// file that can be locked is abandoned.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "base/files.h"
#include "realizar/result.h"

namespace realizar {

// A new temporary name for `path`, in the same folder.
std::filesystem::path unfinished_path(const std::filesystem::path& path);

// Whether a file name has this form, for any path.
bool is_unfinished_name(std::string_view name);

// Locks a file or folder that this writer has just made under such a name; the lock lasts as long as `fd` is open.
// False if a sweep took it first: then the writer must make another one. On a file system without locks the result is
// true, and none of its files is ever found abandoned.
bool hold_unfinished(const FileDescriptor& fd);

// Calls `remove` for everything in `folder` that a writer abandoned. Errors: the first one of `remove`, after all were
// tried. A folder that cannot be read counts as empty.
Status remove_abandoned(const std::filesystem::path& folder,
                        const std::function<Status(const std::filesystem::path&)>& remove);

// Removes the files and folders that writers of this path abandoned, if this process has permission.
void remove_abandoned_of(const std::filesystem::path& path);

}  // namespace realizar
