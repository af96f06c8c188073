#include "backend/cpu/kernel_choice.h"

#include "base/cpu_features.h"

namespace realizar {

const KernelTable* kernels_for(CpuIsa isa) {
#if defined(__x86_64__)
  const CpuFeatures has = cpu_features();
  const bool any = isa == CpuIsa::kAuto;
  if (has.avx512_bf16 && (any || isa == CpuIsa::kAvx512)) return &kAvx512Bf16Kernels;
  if (has.avx512 && (any || isa == CpuIsa::kAvx512)) return &kAvx512Kernels;
  if (has.avx2 && (any || isa == CpuIsa::kAvx2)) return &kAvx2Kernels;
#endif
  return isa == CpuIsa::kAuto || isa == CpuIsa::kPortable ? &kPortableKernels : nullptr;
}

}  // namespace realizar
