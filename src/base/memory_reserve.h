// A memory reserve for destructors that run because memory ran out. Some need a little memory themselves (those of
// nlohmann's arrays do), and a destructor that fails ends the process.
#pragma once

namespace realizar {

// Keeps a reserve for the whole process. When memory runs out, std::bad_alloc is still thrown, but allocations made
// while an exception is in flight draw on the reserve. It holds only addresses, no pages, until then.
void keep_memory_reserve();

// Refills the used part of the reserve, as far as there is memory.
void refill_memory_reserve();

}  // namespace realizar
