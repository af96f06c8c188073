// The chat page's files, embedded at build time; none if built with REALIZAR_PAGE=OFF.
#pragma once

#include <span>
#include <string_view>

namespace realizar::server {

struct PageFile {
  std::string_view name;  // in web/page: "index.html", or a part that the page loads
  std::string_view gzip;  // its content, compressed
};

std::span<const PageFile> page_files();
// Null: there is none of that name.
const PageFile* page_file(std::string_view name);

}  // namespace realizar::server
