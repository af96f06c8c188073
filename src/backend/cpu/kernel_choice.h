// Chooses among the kernel tables of this binary.
#pragma once

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels.h"

namespace realizar {

// Null where the processor lacks the level asked for.
const KernelTable* kernels_for(CpuIsa isa);

}  // namespace realizar
