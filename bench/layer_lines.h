// Layers of each kind of mixer and ffn, in the shapes of known models: lines of kernels_bench.
#pragma once

#include "backend/cpu/cpu_backend.h"

namespace realizar {

// Registers layer/decode/LEVEL/KIND (one row) and layer/prefill/LEVEL/KIND (512 rows).
void register_layer_lines(cpu::CpuIsa isa);

}  // namespace realizar
