// The input of chats, kept for later ones: a file with one JSON string per line, readable only by its owner.
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

// realizar/history in $XDG_STATE_HOME or ~/.local/state; nullopt if the environment defines neither.
std::optional<std::filesystem::path> history_path();

// Creates a state folder if necessary, for its owner only. Errors: InvalidArgument (the system's reason).
Status make_private_folders(const std::filesystem::path& folder);

// The latest entries, oldest first; none if there is no file. Lines that are not JSON strings are skipped. A file that
// has grown to twice kMaxHistoryEntries is cut to the latest ones. Errors: InvalidArgument (the system's reason).
Result<std::vector<std::string>> read_history(const std::filesystem::path& path);

// Creates folder and file if necessary. Errors: InvalidArgument (the system's reason).
Status append_history(const std::filesystem::path& path, std::string_view entry);

}  // namespace realizar::cli
