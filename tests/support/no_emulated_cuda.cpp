#include "support/emulated_cuda.h"

namespace realizar::test {

Result<std::unique_ptr<Backend>> make_emulated_cuda(uint32_t) {
  return unsupported("the emulator of a GPU is for x86-64", "backend");
}

Result<std::unique_ptr<Backend>> make_cuda(uint32_t) {
  return unsupported("a GPU is tested on x86-64", "backend");
}

}  // namespace realizar::test
