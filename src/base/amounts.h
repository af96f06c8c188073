// Numbers in the form that people read.
#pragma once

#include <cstdint>
#include <string>

namespace realizar {

// "312 bytes", "4.8 MB", "1.32 GB", "141 GB": decimal units, as disks and downloads have them.
std::string bytes_text(uint64_t n_bytes);
// "131,072"
std::string grouped_text(uint64_t n);

}  // namespace realizar
