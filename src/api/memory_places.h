// The kinds of memory where this machine can keep models, and how much of each is free.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "realizar/options.h"

namespace realizar {

struct MemoryPlace {
  std::string name;  // "cpu", or a GPU's
  uint64_t free_bytes = 0, total_bytes = 0;
};

// The host's memory, where the system tells of it, and the GPUs' that models loaded with such options may use.
std::vector<MemoryPlace> memory_places(const LoadOptions& options);

}  // namespace realizar
