// Memory that is kept back for destructors which run because memory ran out. Some need a little themselves (those of
// nlohmann's arrays do), and a destructor that fails ends the process.
#pragma once

namespace realizar {

// Keeps a reserve for the whole process. Where no memory is left, std::bad_alloc is thrown as ever, but what is
// allocated while an exception is on its way takes from the reserve. Only addresses are kept until then, no pages.
void keep_memory_reserve();

// Keeps back again what was taken, as far as there is memory.
void refill_memory_reserve();

}  // namespace realizar
