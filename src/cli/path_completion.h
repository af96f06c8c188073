// The files and folders that a path which is being typed may become.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace realizar::cli {

// In order of their names, with what is typed of the path in front; folders end in a slash. Hidden ones only where the
// name begins with a dot.
std::vector<std::string> complete_path(std::string_view typed);

}  // namespace realizar::cli
