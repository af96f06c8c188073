// The chat page, embedded when the program is built; empty where it was built with REALIZAR_PAGE=OFF.
#pragma once

#include <string_view>

namespace realizar::server {

std::string_view page_html();

}  // namespace realizar::server
