// Chooses among the kernel tables of this binary.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels.h"

namespace realizar::cpu {

// Null where the processor lacks the level asked for. kAuto: the highest level that it has.
const KernelTable* kernels_for(CpuIsa isa);

struct KernelChoice {
  const KernelTable* kernels = nullptr;
  std::string reason;  // for people; empty where there was nothing to choose
};

// What --isa auto takes. The arithmetic is that of the processor's highest level, always, so that a model gives the
// same tokens at every start. Among the levels of that arithmetic the clock decides, once in a process, in a few ms.
const KernelChoice& choose_kernels();

// Times of the same four products: decode rows and prompt rows, a block type and F16.
using KernelTimes = std::array<double, 4>;
KernelTimes time_kernels(const KernelTable& kernels);

// `candidates`: of one arithmetic, the highest level first; one or more. A lower one is taken where the clock shows it
// to be better beyond doubt: faster by a tenth in some product, and slower in none.
KernelChoice choose_fastest(std::span<const KernelTable* const> candidates,
                            const std::function<KernelTimes(const KernelTable&)>& time);

}  // namespace realizar::cpu
