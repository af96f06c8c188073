// Every backend that a test may compute on, by a name: all levels of the processor, and the kernels of AMX and of CUDA,
// real and emulated. Making an unavailable one is an error.
#pragma once

#include <memory>
#include <ostream>

#include "backend/cpu/cpu_backend.h"
#include "backend/reference/reference_backend.h"
#include "support/emulated_amx_backend.h"
#include "support/emulated_cuda.h"

namespace realizar::test {

struct Device {
  const char* name;
  Result<std::unique_ptr<Backend>> (*make)();
};

inline void PrintTo(const Device& device, std::ostream* out) {
  *out << device.name;
}

template <cpu::CpuIsa kIsa>
Result<std::unique_ptr<Backend>> make_cpu() {
  return cpu::make_cpu_backend({.n_threads = 2, .isa = kIsa});
}

inline const Device kDevices[] = {
    {"reference", [] { return Result<std::unique_ptr<Backend>>(make_reference_backend()); }},
    {"portable", make_cpu<cpu::CpuIsa::kPortable>},
    {"avx2", make_cpu<cpu::CpuIsa::kAvx2>},
    {"avx_vnni", make_cpu<cpu::CpuIsa::kAvxVnni>},
    {"avx512", make_cpu<cpu::CpuIsa::kAvx512>},
    {"amx", make_cpu<cpu::CpuIsa::kAmx>},
    {"emulated_amx", [] { return make_emulated_amx(2); }},
    {"neon", make_cpu<cpu::CpuIsa::kNeon>},
    {"dotprod", make_cpu<cpu::CpuIsa::kDotprod>},
    {"i8mm", make_cpu<cpu::CpuIsa::kI8mm>},
    {"cuda_emulated", [] { return make_emulated_cuda(1); }},
    {"cuda_gpu", [] { return make_cuda(1); }},
};

}  // namespace realizar::test
