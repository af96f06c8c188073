#include "backend/cpu/kernel_choice.h"

#include "base/cpu_features.h"

namespace realizar {
const KernelTable* kernels_for(CpuIsa isa) {
  const bool any = isa == CpuIsa::kAuto;
#if defined(__x86_64__)
  const CpuFeatures has = cpu_features();
  if (has.amx_bf16 && (any || isa == CpuIsa::kAmx)) return &kAmxKernels;
  if (has.avx512 && (any || isa == CpuIsa::kAvx512)) return &kAvx512Kernels;
  if (has.avx_vnni && (any || isa == CpuIsa::kAvxVnni)) return &kAvxVnniKernels;
  if (has.avx2 && (any || isa == CpuIsa::kAvx2)) return &kAvx2Kernels;
#elif defined(__aarch64__)
  if (cpu_features().i8mm && (any || isa == CpuIsa::kI8mm)) return &kI8mmKernels;
  if (cpu_features().dotprod && (any || isa == CpuIsa::kDotprod)) return &kDotprodKernels;
  if (any || isa == CpuIsa::kNeon) return &kNeonKernels;
#endif
  return any || isa == CpuIsa::kPortable ? &kPortableKernels : nullptr;
}

const char* to_string(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kAuto:
      return "auto";
    case CpuIsa::kPortable:
      return "portable";
    case CpuIsa::kAvx2:
      return "avx2";
    case CpuIsa::kAvxVnni:
      return "avx-vnni";
    case CpuIsa::kAvx512:
      return "avx512";
    case CpuIsa::kAmx:
      return "amx";
    case CpuIsa::kNeon:
      return "neon";
    case CpuIsa::kDotprod:
      return "dotprod";
    case CpuIsa::kI8mm:
      return "i8mm";
  }
  return "auto";
}

}  // namespace realizar
