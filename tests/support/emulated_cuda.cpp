#include "support/emulated_cuda.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/device/nccl.h"
#include "backend/cuda/device/runtime.h"
#include "backend/cuda/kernels/device_code.h"
#include "backend/cuda/kernels/load_kernels.h"
#include "base/check.h"

namespace realizar::cuda {
namespace {

#include "backend/cuda/kernels/kernels.inl"
#include "base/try.h"

struct Release {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{256}); }
};

// Ends the program if it is launched on while the calling thread is attached to another.
class EmulatedDevice final : public Device {
 public:
  explicit EmulatedDevice(const test::EmulatedDeviceOptions& options)
      : options_(options), use_(options.memory != nullptr ? *options.memory : own_use_) {
    load_kernels(kKernelTable);
  }
  std::string name() const override { return options_.name; }
  std::string description() const override { return name(); }
  size_t total_bytes() const override { return options_.free_bytes; }
  size_t free_bytes() const override { return options_.free_bytes - std::min(options_.free_bytes, use_.device_bytes); }
  bool is_lost() const override { return false; }
  const KernelTable& kernels() const override { return kKernelTable; }
  Stream stream() const override {
    REQUIRE(attached == this);
    return recording_;
  }
  void attach() override { attached = this; }

  Result<void*> allocate(size_t n_bytes) override {
    n_bytes = (n_bytes + options_.piece_bytes - 1) / options_.piece_bytes * options_.piece_bytes;
    if (n_bytes > options_.memory_bytes - std::min(options_.memory_bytes, use_.device_bytes)) {
      return Error{ErrorCode::kResourceExhausted,
                   "the emulated device has no " + std::to_string(n_bytes) + " bytes left", "memory"};
    }
    return add_memory(n_bytes, use_.device_bytes);
  }
  void free(void* memory) override { remove_memory(memory, use_.device_bytes); }
  size_t shared_allocation_bytes() const override { return options_.shared_allocation_bytes; }
  Result<void*> allocate_pinned(size_t n_bytes) override { return add_memory(n_bytes, use_.pinned_bytes); }
  void free_pinned(void* memory) override { remove_memory(memory, use_.pinned_bytes); }
  void upload(void* to, const void* from, size_t n_bytes) override { copy(to, from, n_bytes); }
  void download(void* to, const void* from, size_t n_bytes) override { copy(to, from, n_bytes); }
  void copy(void* to, const void* from, size_t n_bytes) override {
    attach();
    std::memcpy(to, from, n_bytes);
  }
  void receive(void* to, Device& from_device, const void* from, size_t n_bytes) override {
    REQUIRE(&from_device != this);
    copy(to, from, n_bytes);
  }
  void clear(void* memory, size_t n_bytes) override {
    REQUIRE(attached == this);
    if (recording_ == nullptr) {
      std::memset(memory, 0, n_bytes);
    } else {
      recording_->push_back([=] { std::memset(memory, 0, n_bytes); });
    }
  }
  Status begin_capture() override {
    REQUIRE(attached == this && recording_ == nullptr);
    if (options_.capture_fault == test::CaptureFault::kAtBegin) return failed_capture();
    graphs_.push_back(std::make_unique<emulator::Recording>());
    recording_ = graphs_.back().get();
    return {};
  }
  Result<GraphId> end_capture() override {
    recording_ = nullptr;
    if (options_.capture_fault == test::CaptureFault::kAtEnd) return failed_capture();
    return GraphId{static_cast<uint32_t>(graphs_.size() - 1)};
  }
  void replay(GraphId id) override {
    REQUIRE(attached == this);
    const test::DeviceWork work;
    for (const auto& run : *graphs_[static_cast<uint32_t>(id)]) run();
  }
  void drop(GraphId id) override { graphs_[static_cast<uint32_t>(id)] = nullptr; }
  // Asynchronous uploads arrive when somebody waits for them; until then the memory is undefined.
  void upload_aside(uint32_t buffer, void* to, const void* from, size_t n_bytes) override {
    std::memset(to, 0xff, n_bytes);
    aside_[buffer].push_back({to, from, n_bytes});
  }
  void acquire(uint32_t buffer) override {
    REQUIRE(attached == this);
    land(buffer);
  }
  Status wait_aside(uint32_t buffer) override {
    land(buffer);
    return {};
  }
  void release(uint32_t) override {}
  void mark_time(uint32_t place) override {
    REQUIRE(attached == this);
    times_[place] = std::chrono::steady_clock::now();
  }
  double ms_between(uint32_t first_place, uint32_t last_place) override {
    return std::chrono::duration<double, std::milli>(times_[last_place] - times_[first_place]).count();
  }
  std::optional<DeviceFailure> failure() override {
    if (options_.launch_fault == test::LaunchFault::kNone || n_launches_++ < options_.failing_launch)
      return std::nullopt;
    has_failed_ = true;
    if (options_.launch_fault == test::LaunchFault::kAtWait) return std::nullopt;
    return DeviceFailure{failed_launch(), options_.launch_fault == test::LaunchFault::kRefused};
  }
  bool is_busy() override { return false; }
  Status wait() override {
    attach();
    return std::exchange(has_failed_, false) ? failed_launch() : Status();
  }

 private:
  static Error failed_launch() { return {ErrorCode::kInternal, "the emulated device runs no more", "cuda"}; }
  static Error failed_capture() { return {ErrorCode::kInternal, "the emulated device records nothing", "cuda"}; }
  void land(uint32_t buffer) {
    for (const Copy& copy : aside_[buffer]) std::memcpy(copy.to, copy.from, copy.n_bytes);
    aside_[buffer].clear();
  }
  Result<void*> add_memory(size_t n_bytes, size_t& in_use) {
    attach();
    std::byte* memory = new (std::align_val_t{256}) std::byte[n_bytes];
    std::memset(memory, 0xff, n_bytes);
    memory_.emplace(memory, Allocation{std::unique_ptr<std::byte[], Release>(memory), n_bytes});
    in_use += n_bytes;
    return static_cast<void*>(memory);
  }
  void remove_memory(void* memory, size_t& in_use) {
    const auto found = memory_.find(memory);
    REQUIRE(recording_ == nullptr && found != memory_.end());
    in_use -= found->second.n_bytes;
    memory_.erase(found);
  }

  static thread_local const EmulatedDevice* attached;
  struct Copy {
    void* to;
    const void* from;
    size_t n_bytes;
  };
  struct Allocation {
    std::unique_ptr<std::byte[], Release> memory;
    size_t n_bytes;
  };
  test::EmulatedDeviceOptions options_;
  test::EmulatedMemory own_use_;
  test::EmulatedMemory& use_;
  std::map<uint32_t, std::vector<Copy>> aside_;
  std::map<uint32_t, std::chrono::steady_clock::time_point> times_;
  std::vector<std::unique_ptr<emulator::Recording>> graphs_;
  emulator::Recording* recording_ = nullptr;
  std::map<void*, Allocation> memory_;
  uint32_t n_launches_ = 0;
  bool has_failed_ = false;
};
thread_local const EmulatedDevice* EmulatedDevice::attached = nullptr;

class EmulatedExchange final : public DeviceExchange {
 public:
  Status gather(std::span<const Part> parts, size_t n_floats) override {
    for (const Part& to : parts) {
      for (size_t i = 0; i < parts.size(); ++i) std::copy_n(parts[i].from, n_floats, to.to + i * n_floats);
    }
    return {};
  }
  Status check() override { return {}; }
  bool is_lost() const override { return false; }
};

}  // namespace
}  // namespace realizar::cuda

namespace realizar::test {

std::unique_ptr<cuda::Device> make_emulated_cuda_device(const EmulatedDeviceOptions& options) {
  return std::make_unique<cuda::EmulatedDevice>(options);
}

Result<std::unique_ptr<Backend>> make_cuda_on(const OpenCuda& open, uint32_t n_devices,
                                              const cuda::CudaOptions& options) {
  std::vector<std::unique_ptr<cuda::Device>> devices;
  for (uint32_t i = 0; i < n_devices; ++i) {
    RZ_TRY(auto device, open());
    devices.push_back(std::move(device));
  }
  return cuda::make_backend(std::move(devices), options);
}

Result<std::unique_ptr<Backend>> make_sharing_emulated_cuda(uint32_t n_devices, const cuda::CudaOptions& options) {
  std::vector<std::unique_ptr<cuda::Device>> devices;
  for (uint32_t i = 0; i < n_devices; ++i) devices.push_back(make_emulated_cuda_device());
  return cuda::make_backend(std::move(devices), options, std::make_unique<cuda::EmulatedExchange>());
}

Result<std::unique_ptr<Backend>> make_sharing_cuda(uint32_t n_devices, const cuda::CudaOptions& options) {
  std::vector<std::unique_ptr<cuda::Device>> devices;
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < n_devices; ++i) {
    RZ_TRY(auto device, cuda::open_device(i));
    devices.push_back(std::move(device));
    numbers.push_back(i);
  }
  RZ_TRY(auto exchange, cuda::open_nccl(numbers));
  return cuda::make_backend(std::move(devices), options, std::move(exchange));
}

Result<std::unique_ptr<Backend>> make_emulated_cuda(uint32_t) {
  return make_cuda_on(open_emulated_cuda, 1, {});
}

Result<std::unique_ptr<cuda::Device>> open_gpu() {
  return cuda::open_device(0);
}

Result<std::unique_ptr<Backend>> make_cuda(uint32_t) {
  return make_cuda_on(open_gpu, 1, {});
}

}  // namespace realizar::test
