// What this process keeps of memory, used or not.
#pragma once

#include <cstdint>

namespace realizar::server {

// To be called once, before threads are made: blocks above some 100 KB go back to the system when they are freed.
void return_large_blocks();
// Gives back what the allocator holds of small blocks that were freed, which takes milliseconds.
void give_memory_back();
// What the process holds of the machine's memory now; 0 where the system does not say.
uint64_t resident_bytes();

}  // namespace realizar::server
