#include "backend/cpu/levels.h"

namespace realizar::cpu {
namespace {

// `table` with more kernels on top of its own.
template <class... Puts>
KernelTable with_kernels(KernelTable table, const char* name, const char* arithmetic, Puts... put) {
  table.name = name;
  table.arithmetic = arithmetic;
  (put(table), ...);
  return table;
}

}  // namespace

const KernelTable& portable_kernels() {
  static const KernelTable table =
      with_kernels({}, "portable", "portable", put_portable<0>, put_portable<1>, put_portable<2>, put_portable<3>);
  return table;
}

#if defined(__x86_64__)
const KernelTable& avx2_kernels() {
  static const KernelTable table =
      with_kernels({}, "AVX2", "x86 FMA, int8", put_avx2<0>, put_avx2<1>, put_avx2<2>, put_avx2<3>);
  return table;
}

const KernelTable& avx_vnni_kernels() {
  static const KernelTable table = with_kernels(avx2_kernels(), "AVX2 VNNI", "x86 FMA, int8", put_avx_vnni);
  return table;
}

const KernelTable& avx512_kernels() {
  static const KernelTable table =
      with_kernels({}, "AVX-512 VNNI", "x86 FMA, int8", put_avx512<0>, put_avx512<1>, put_avx512<2>, put_avx512<3>);
  return table;
}

const KernelTable& amx_kernels() {
  static const KernelTable table =
      with_kernels(avx512_kernels(), "AMX BF16, AVX-512 VNNI", "AMX BF16, AVX-512 VNNI", put_amx);
  return table;
}
#elif defined(__aarch64__)
const KernelTable& neon_kernels() {
  static const KernelTable table = with_kernels({}, "NEON", "NEON", put_neon<0>, put_neon<1>, put_neon<2>, put_neon<3>);
  return table;
}

const KernelTable& dotprod_kernels() {
  static const KernelTable table = with_kernels(neon_kernels(), "NEON dotprod", "NEON dotprod", put_dotprod);
  return table;
}

const KernelTable& i8mm_kernels() {
  static const KernelTable table = with_kernels(neon_kernels(), "NEON i8mm", "NEON i8mm", put_i8mm);
  return table;
}
#endif

}  // namespace realizar::cpu
