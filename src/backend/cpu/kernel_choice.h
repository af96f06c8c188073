// Chooses among the kernel tables of this binary.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels.h"

namespace realizar::cpu {

// Null if the processor lacks the requested level. kAuto: the highest supported level.
const KernelTable* kernels_for(CpuIsa isa);

struct KernelChoice {
  const KernelTable* kernels = nullptr;
  std::string reason;  // human-readable; empty if there was no choice
};

// The kernels of --isa auto. The arithmetic is always that of the processor's highest level, so that a model gives the
// same tokens at every start. Among the levels with that arithmetic timing decides, once per process, in a few ms.
const KernelChoice& choose_kernels();

// Times of four fixed products: decode rows and prompt rows, each of a block type and of F16.
using KernelTimes = std::array<double, 4>;
KernelTimes time_kernels(const KernelTable& kernels);

// `candidates`: one or more of equal arithmetic, the highest level first. A lower level must be clearly better: faster
// by a tenth in some product, and slower in none.
KernelChoice choose_fastest(std::span<const KernelTable* const> candidates,
                            const std::function<KernelTimes(const KernelTable&)>& time);

}  // namespace realizar::cpu
