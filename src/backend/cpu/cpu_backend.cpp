#include "backend/cpu/cpu_backend.h"
namespace realizar {
Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuOptions&) {
  return unsupported("cpu backend not here");
}
}  // namespace realizar
