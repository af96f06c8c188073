// System resources of the process: memory that it keeps, used or not, and file descriptors.
#pragma once

#include <cstdint>

namespace realizar::server {

// To be called once, before threads are started: blocks above about 100 KB go back to the system when they are freed.
void return_large_blocks();
// Returns freed small blocks from the allocator to the system, which takes milliseconds.
void give_memory_back();
// The process's resident memory; 0 if the system does not report it.
uint64_t resident_bytes();

// Raises the soft limit of file descriptors to the hard one, as far as the system allows, and returns it.
uint64_t raise_file_limit();
// The number of connections that a limit leaves room for, at one descriptor each, after the process's own descriptors.
uint32_t max_connections_under(uint64_t file_limit);

}  // namespace realizar::server
