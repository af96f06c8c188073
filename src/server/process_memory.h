// What this process keeps of memory that it no longer uses.
#pragma once

namespace realizar::server {

// To be called once, before threads are made: blocks above some 100 KB go back to the system when they are freed.
void return_large_blocks();
// Gives back what the allocator holds of small blocks that were freed, which takes milliseconds.
void give_memory_back();

}  // namespace realizar::server
