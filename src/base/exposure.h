// Who may read or change a file that holds secrets, for a warning to whoever names it.
#pragma once

#include <string>
#include <string_view>

namespace realizar {

// A sentence if users of the machine who are neither the file's owner nor in its group may change it or, where it holds
// secrets, read it; else "". `what`: what the file has, as the sentence calls it.
std::string exposure_of(const std::string& path, std::string_view what, bool holds_secrets);

}  // namespace realizar
