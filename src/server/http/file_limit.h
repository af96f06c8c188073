// File descriptors of the process: a connection takes one each.
#pragma once

#include <cstdint>

namespace realizar::server {

// Raises the soft limit to the hard one, as far as the system lets it, and gives it.
uint64_t raise_file_limit();

// Connections that a limit leaves room for, after what the process itself opens.
uint32_t max_connections_under(uint64_t file_limit);

}  // namespace realizar::server
