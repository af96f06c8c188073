// The kernel tables of this binary, each put together when it is first asked for, which only processors that have its
// level may do: kernels_for() in kernel_choice.h says which these are.
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
