// The program's folders of the user, by the XDG Base Directory Specification, version 0.8. They need not be there;
// nullopt where the environment names neither them nor a home.
#pragma once

#include <filesystem>
#include <optional>

namespace realizar::cli {

// realizar in $XDG_STATE_HOME or ~/.local/state: what a session leaves to the next.
std::optional<std::filesystem::path> state_folder();
// realizar in $XDG_CACHE_HOME or ~/.cache: what can be made again.
std::optional<std::filesystem::path> cache_folder();

}  // namespace realizar::cli
