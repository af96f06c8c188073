#include "support/backends_under_test.h"

#include "backend/cpu/cpu_backend.h"
#include "base/cpu_features.h"

namespace realizar::test {
namespace {

template <CpuIsa kIsa>
Result<std::unique_ptr<Backend>> make_cpu(uint32_t n_threads) {
  return make_cpu_backend({.n_threads = n_threads, .isa = kIsa});
}

}  // namespace

std::vector<BackendUnderTest> backends_under_test() {
  const Arithmetic avx512_prefill = cpu_features().avx512_bf16 ? Arithmetic::kBf16 : Arithmetic::kF32;
  return {{"cpu_portable", make_cpu<CpuIsa::kPortable>, Arithmetic::kInt8, Arithmetic::kF32},
          {"cpu_avx2", make_cpu<CpuIsa::kAvx2>, Arithmetic::kInt8, Arithmetic::kF32},
          {"cpu_avx512", make_cpu<CpuIsa::kAvx512>, Arithmetic::kInt8, avx512_prefill}};
}

void skip_where_absent(const BackendUnderTest& backend) {
  const auto made = backend.make(1);
  if (!made.ok()) GTEST_SKIP() << made.error().message;
}

}  // namespace realizar::test
