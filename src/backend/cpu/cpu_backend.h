// The CPU backend: packed weights, kernels chosen at run time by instruction set, a resident thread team.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/exchange.h"

namespace realizar::cpu {

struct KernelTable;

// The kernel levels of one binary, lowest first. kAuto takes the best that the processor supports, chosen by timing
// among levels that give the same bits. kAvx512 includes VNNI.
enum class CpuIsa : uint8_t { kAuto, kPortable, kAvx2, kAvxVnni, kAvx512, kAmx, kNeon, kDotprod, kI8mm };
inline constexpr CpuIsa kCpuIsas[] = {CpuIsa::kPortable, CpuIsa::kAvx2, CpuIsa::kAvxVnni, CpuIsa::kAvx512,
                                      CpuIsa::kAmx,      CpuIsa::kNeon, CpuIsa::kDotprod, CpuIsa::kI8mm};
const char* to_string(CpuIsa isa);
// The levels that this processor supports, lowest first.
std::vector<CpuIsa> usable_isas();

struct CpuOptions {
  uint32_t n_threads = 0;  // 0: one for each core that the process may use
  CpuIsa isa = CpuIsa::kAuto;
  Exchange* exchange = nullptr;  // between ranks that share programs, or null; it must outlive the backend
};

// Errors: Unsupported if the processor lacks the requested level.
Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuOptions& options);
// The processor must support these kernels.
std::unique_ptr<Backend> make_cpu_backend(const KernelTable& kernels, uint32_t n_threads, Exchange* exchange = nullptr);

}  // namespace realizar::cpu
