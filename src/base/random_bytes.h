// Random bytes from the kernel, for keys and ids that nobody may guess.
#pragma once

#include <cstddef>
#include <span>

namespace realizar {

// Fills at most 256 bytes. The kernel returns so few all at once, or none if a signal interrupts the first wait
// (getrandom(2)); then the call is repeated.
void fill_randomly(std::span<std::byte> bytes);

}  // namespace realizar
