#include "support/backends_under_test.h"

#include "backend/cpu/cpu_backend.h"
#include "support/emulated_amx_backend.h"
#include "support/emulated_cuda.h"

namespace realizar::test {
namespace {

template <cpu::CpuIsa kIsa>
Result<std::unique_ptr<Backend>> make_cpu(uint32_t n_threads) {
  return cpu::make_cpu_backend({.n_threads = n_threads, .isa = kIsa});
}

}  // namespace

std::vector<BackendUnderTest> backends_under_test() {
  constexpr Arithmetic kF32 = Arithmetic::kF32, kInt8 = Arithmetic::kInt8, kSplitBf16 = Arithmetic::kSplitBf16;
  return {{"cpu_portable", make_cpu<cpu::CpuIsa::kPortable>, kInt8, kInt8, kF32},
          {"cpu_avx2", make_cpu<cpu::CpuIsa::kAvx2>, kInt8, kInt8, kF32},
          {"cpu_avx_vnni", make_cpu<cpu::CpuIsa::kAvxVnni>, kInt8, kInt8, kF32},
          {"cpu_avx512", make_cpu<cpu::CpuIsa::kAvx512>, kInt8, kInt8, kF32},
          {"cpu_amx", make_cpu<cpu::CpuIsa::kAmx>, kInt8, Arithmetic::kBf16, kSplitBf16},
          {"cpu_emulated_amx", make_emulated_amx, kInt8, Arithmetic::kBf16, kSplitBf16},
          {"cpu_neon", make_cpu<cpu::CpuIsa::kNeon>, kInt8, kInt8, kF32},
          {"cpu_dotprod", make_cpu<cpu::CpuIsa::kDotprod>, kInt8, kInt8, kF32},
          {"cpu_i8mm", make_cpu<cpu::CpuIsa::kI8mm>, kInt8, kInt8, kF32},
          {"cuda_emulated", make_emulated_cuda, kInt8, kInt8, kSplitBf16, 1, kSplitBf16},
          {"cuda_gpu", make_cuda, kInt8, kInt8, kSplitBf16, 1, kSplitBf16}};
}

void skip_where_absent(const BackendUnderTest& backend) {
  const auto made = backend.make(1);
  if (!made.ok()) GTEST_SKIP() << made.error().message;
}

}  // namespace realizar::test
