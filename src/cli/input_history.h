// What was typed in chats, kept for the next ones: a file with a JSON string a line, for its owner's eyes alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::cli {

inline constexpr size_t kMaxHistoryEntries = 1000;
inline constexpr size_t kMaxHistoryEntryBytes = 16 << 10;  // longer ones are not kept

// realizar/history in $XDG_STATE_HOME or ~/.local/state; nullopt where the environment names neither.
std::optional<std::filesystem::path> history_path();

// Makes a folder of state where it is missing, for its owner alone. Errors: InvalidArgument (the system's reason).
Status make_private_folders(const std::filesystem::path& folder);

// The latest entries, oldest first; none where there is no file. Lines that are no JSON strings are passed over. A file
// that has grown to twice kMaxHistoryEntries is cut to the latest. Errors: InvalidArgument (the system's reason).
Result<std::vector<std::string>> read_history(const std::filesystem::path& path);

// Makes folder and file where they are missing. Errors: InvalidArgument (the system's reason).
Status append_history(const std::filesystem::path& path, std::string_view entry);

}  // namespace realizar::cli
