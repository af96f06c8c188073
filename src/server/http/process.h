// Resources that the process takes of the system: memory that it keeps, used or not, and file descriptors.
#pragma once

#include <cstdint>

namespace realizar::server {

// To be called once, before threads are made: blocks above some 100 KB go back to the system when they are freed.
void return_large_blocks();
// Gives back what the allocator holds of small blocks that were freed, which takes milliseconds.
void give_memory_back();
// What the process holds of the machine's memory now; 0 where the system does not say.
uint64_t resident_bytes();

// Raises the soft limit of file descriptors to the hard one, as far as the system lets it, and gives it.
uint64_t raise_file_limit();
// Connections that a limit leaves room for, of a descriptor each, after what the process itself opens.
uint32_t max_connections_under(uint64_t file_limit);

}  // namespace realizar::server
