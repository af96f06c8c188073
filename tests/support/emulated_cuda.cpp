#include "support/emulated_cuda.h"

#include <cstring>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/device_code.h"

namespace realizar::cuda {
namespace {

#include "backend/cuda/kernels.inl"

struct Release {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{256}); }
};

class EmulatedDevice final : public Device {
 public:
  std::string description() const override { return "emulated"; }
  const KernelTable& kernels() const override { return kKernelTable; }
  Stream stream() const override { return recording_; }

  Result<void*> allocate(size_t n_bytes) override {
    memory_.emplace_back(new (std::align_val_t{256}) std::byte[n_bytes]);
    std::memset(memory_.back().get(), 0xff, n_bytes);
    return static_cast<void*>(memory_.back().get());
  }
  Result<void*> allocate_pinned(size_t n_bytes) override { return allocate(n_bytes); }
  void upload(void* to, const void* from, size_t n_bytes) override { std::memcpy(to, from, n_bytes); }
  void download(void* to, const void* from, size_t n_bytes) override { std::memcpy(to, from, n_bytes); }
  void begin_capture() override {
    graphs_.push_back(std::make_unique<emulator::Recording>());
    recording_ = graphs_.back().get();
  }
  Result<GraphId> end_capture() override {
    recording_ = nullptr;
    return GraphId{static_cast<uint32_t>(graphs_.size() - 1)};
  }
  void replay(GraphId id) override {
    for (const auto& run : *graphs_[static_cast<uint32_t>(id)]) run();
  }
  void drop(GraphId id) override { graphs_[static_cast<uint32_t>(id)] = nullptr; }
  Status wait() override { return {}; }

 private:
  std::vector<std::unique_ptr<emulator::Recording>> graphs_;
  emulator::Recording* recording_ = nullptr;
  std::vector<std::unique_ptr<std::byte[], Release>> memory_;
};

}  // namespace
}  // namespace realizar::cuda

namespace realizar::test {

std::unique_ptr<cuda::Device> make_emulated_cuda_device() {
  return std::make_unique<cuda::EmulatedDevice>();
}

Result<std::unique_ptr<Backend>> make_emulated_cuda(uint32_t) {
  return cuda::make_backend(make_emulated_cuda_device());
}

}  // namespace realizar::test
