// Who may read or change a file that holds secrets, for a warning to the user who configured the file.
#pragma once

#include <string>
#include <string_view>

namespace realizar {

// A sentence if users other than the file's owner and group may change the file or, if it holds secrets, read it; else
// "". `what`: the file's content, as the sentence calls it.
std::string exposure_of(const std::string& path, std::string_view what, bool holds_secrets);

}  // namespace realizar
