#include "support/backends_under_test.h"

#include "backend/cpu/cpu_backend.h"

namespace realizar::test {
namespace {

template <CpuIsa kIsa>
Result<std::unique_ptr<Backend>> make_cpu(uint32_t n_threads) {
  return make_cpu_backend({.n_threads = n_threads, .isa = kIsa});
}

}  // namespace

std::vector<BackendUnderTest> backends_under_test() {
  return {{"cpu_portable", make_cpu<CpuIsa::kPortable>, Arithmetic::kInt8, Arithmetic::kInt8},
          {"cpu_avx2", make_cpu<CpuIsa::kAvx2>, Arithmetic::kInt8, Arithmetic::kInt8},
          {"cpu_avx_vnni", make_cpu<CpuIsa::kAvxVnni>, Arithmetic::kInt8, Arithmetic::kInt8},
          {"cpu_avx512", make_cpu<CpuIsa::kAvx512>, Arithmetic::kInt8, Arithmetic::kInt8},
          {"cpu_amx", make_cpu<CpuIsa::kAmx>, Arithmetic::kInt8, Arithmetic::kBf16},
          {"cpu_neon", make_cpu<CpuIsa::kNeon>, Arithmetic::kInt8, Arithmetic::kInt8},
          {"cpu_dotprod", make_cpu<CpuIsa::kDotprod>, Arithmetic::kInt8, Arithmetic::kInt8}};
}

void skip_where_absent(const BackendUnderTest& backend) {
  const auto made = backend.make(1);
  if (!made.ok()) GTEST_SKIP() << made.error().message;
}

}  // namespace realizar::test
