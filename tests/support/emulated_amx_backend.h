// The CPU backend with the kernels of AMX, whose tile registers are emulated.
#pragma once

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/levels.h"
#include "support/emulated_amx.h"

namespace realizar::test {

#if defined(__x86_64__)
inline const cpu::KernelTable& emulated_amx_kernels() {
  static const cpu::KernelTable table = [] {
    cpu::KernelTable made = cpu::avx512_kernels();
    made.name = made.arithmetic = "AMX BF16, emulated";
    cpu::put_emulated_amx(made);
    return made;
  }();
  return table;
}
#endif

// Errors: Unsupported.
inline Result<std::unique_ptr<Backend>> make_emulated_amx([[maybe_unused]] uint32_t n_threads) {
#if defined(__x86_64__)
  // Every processor with these instructions has the rest of AVX-512 that the level uses.
  if (__builtin_cpu_supports("avx512bf16")) return cpu::make_cpu_backend(emulated_amx_kernels(), n_threads);
#endif
  return unsupported("this processor cannot make bf16 tiles", "isa");
}

}  // namespace realizar::test
