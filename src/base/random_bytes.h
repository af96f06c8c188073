// Random bytes of the kernel, for keys and ids that nobody may guess.
#pragma once

#include <cstddef>
#include <span>

namespace realizar {

// Fills at most 256 bytes. So few come all at once, or not at all where a signal interrupts the wait for the first ones
// (getrandom(2)), and then they are asked for again.
void fill_randomly(std::span<std::byte> bytes);

}  // namespace realizar
