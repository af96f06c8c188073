// Completions of a file or folder path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace realizar::cli {

// Sorted by name, each beginning with the typed part of the path; folders end in a slash. Hidden ones are included only
// if the name begins with a dot.
std::vector<std::string> complete_path(std::string_view typed);

}  // namespace realizar::cli
