#include "backend/cuda/device/runtime.h"

namespace realizar::cuda {
namespace {

Error built_without() {
  return not_found("this program was built without CUDA; build it where nvcc is found to use a GPU", "backend");
}

}  // namespace

bool is_built() {
  return false;
}

Result<uint32_t> count_devices() {
  return built_without();
}

Result<std::vector<DeviceInfo>> list_devices() {
  return built_without();
}

Result<std::unique_ptr<Device>> open_device(uint32_t) {
  return built_without();
}

}  // namespace realizar::cuda
