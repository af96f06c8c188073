#include "support/emulated_cuda.h"

#include <chrono>
#include <cstring>
#include <map>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/device_code.h"
#include "backend/cuda/runtime.h"

namespace realizar::cuda {
namespace {

#include "backend/cuda/kernels.inl"

struct Release {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{256}); }
};

class EmulatedDevice final : public Device {
 public:
  std::string description() const override { return "emulated"; }
  size_t free_bytes() const override { return size_t{1} << 40; }
  bool is_lost() const override { return false; }
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
  // Copies aside land when somebody waits for them; until then there is nothing of use.
  void upload_aside(uint32_t buffer, void* to, const void* from, size_t n_bytes) override {
    std::memset(to, 0xff, n_bytes);
    aside_[buffer].push_back({to, from, n_bytes});
  }
  void acquire(uint32_t buffer) override {
    for (const Copy& copy : aside_[buffer]) std::memcpy(copy.to, copy.from, copy.n_bytes);
    aside_[buffer].clear();
  }
  void release(uint32_t) override {}
  void mark_time(uint32_t place) override { times_[place] = std::chrono::steady_clock::now(); }
  double ms_between(uint32_t first_place, uint32_t last_place) override {
    return std::chrono::duration<double, std::milli>(times_[last_place] - times_[first_place]).count();
  }
  Status wait() override { return {}; }

 private:
  struct Copy {
    void* to;
    const void* from;
    size_t n_bytes;
  };
  std::map<uint32_t, std::vector<Copy>> aside_;
  std::map<uint32_t, std::chrono::steady_clock::time_point> times_;
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
  return cuda::make_backend(make_emulated_cuda_device(), {});
}

Result<std::unique_ptr<cuda::Device>> open_gpu() {
  return cuda::open_device(0);
}

Result<std::unique_ptr<Backend>> make_cuda(uint32_t) {
  RZ_TRY(auto device, open_gpu());
  return cuda::make_backend(std::move(device), {});
}

}  // namespace realizar::test
