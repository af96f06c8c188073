// Plain declarations only: a file compiled for an instruction set includes this header.
#pragma once

#include "backend/cpu/kernels.h"

namespace realizar::cpu {

// Like put_amx(). The kernels require AVX-512 with BF16.
void put_emulated_amx(KernelTable& table);

}  // namespace realizar::cpu
