// The kernel tables of this binary, each built on first use. Only processors that support a level may call its
// function: see kernels_for() in kernel_choice.h.
#pragma once

#include "backend/cpu/kernels.h"

namespace realizar::cpu {

const KernelTable& portable_kernels();
const KernelTable& avx2_kernels();
const KernelTable& avx_vnni_kernels();
const KernelTable& avx512_kernels();
const KernelTable& amx_kernels();
const KernelTable& neon_kernels();
const KernelTable& dotprod_kernels();
const KernelTable& i8mm_kernels();

}  // namespace realizar::cpu
