// The chat page, embedded when the program is built; empty where it was built with REALIZAR_PAGE=OFF.
#pragma once

#include <string>
#include <string_view>

namespace realizar::server {

std::string_view page_html();

// The page as it is sent.
struct PageFiles {
  std::string_view html;
  std::string gzip;  // the same, compressed
  std::string etag;  // of both, weak
};
// Made at the first call.
const PageFiles& page_files();

}  // namespace realizar::server
