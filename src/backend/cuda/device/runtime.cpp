#include "backend/cuda/device/runtime.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "backend/cuda/kernels/load_kernels.h"
#include "backend/cuda/kernels/runtime_kernels.h"
#include "base/try.h"

namespace realizar::cuda {
namespace {

constexpr size_t kSharedBytes = size_t{64} << 20;  // the driver maps 2 MiB at a time
constexpr int kLeastMajor = 8;                     // Ampere: bf16 and asynchronous copies

std::string words(cudaError_t error) {
  return fmt::format("{} ({})", cudaGetErrorString(error), cudaGetErrorName(error));
}

// Whether a kernel that ran, or the device, caused the error, whichever call reports it.
bool is_of_running(cudaError_t error) {
  constexpr cudaError_t kErrors[] = {cudaErrorECCUncorrectable,
                                     cudaErrorNvlinkUncorrectable,
                                     cudaErrorIllegalAddress,
                                     cudaErrorLaunchTimeout,
                                     cudaErrorAssert,
                                     cudaErrorHardwareStackError,
                                     cudaErrorIllegalInstruction,
                                     cudaErrorMisalignedAddress,
                                     cudaErrorInvalidAddressSpace,
                                     cudaErrorInvalidPc,
                                     cudaErrorLaunchFailure,
                                     cudaErrorUnknown};
  return std::ranges::find(kErrors, error) != std::end(kErrors);
}

std::string version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

class RuntimeDevice final : public Device {
 public:
  RuntimeDevice(uint32_t idx, DeviceInfo info) : idx_(static_cast<int>(idx)), info_(std::move(info)) {}
  ~RuntimeDevice() override {
    attach();
    for (cudaGraphExec_t graph : graphs_) {
      if (graph != nullptr) cudaGraphExecDestroy(graph);
    }
    for (void* memory : device_memory_) cudaFree(memory);
    for (void* memory : pinned_memory_) cudaFreeHost(memory);
    for (const auto* events : {&filled_, &released_, &crossings_, &times_}) {
      for (cudaEvent_t event : *events) cudaEventDestroy(event);
    }
    for (cudaStream_t stream : {stream_, copy_stream_}) {
      if (stream != nullptr) cudaStreamDestroy(stream);
    }
  }

  Status open() {
    attach();
    note(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    note(cudaStreamCreateWithFlags(&copy_stream_, cudaStreamNonBlocking));
    load_kernels(kernels());
    note(cudaGetLastError());
    return status();
  }

  std::string name() const override { return fmt::format("cuda:{}", idx_); }
  std::string description() const override {
    return fmt::format("{} ({}.{}), driver {}", info_.name, info_.major, info_.minor, version(info_.driver_version));
  }
  size_t total_bytes() const override { return info_.total_bytes; }
  size_t free_bytes() const override {
    size_t n_free = 0, n_total = 0;
    if (cudaSetDevice(idx_) != cudaSuccess) return 0;
    return cudaMemGetInfo(&n_free, &n_total) == cudaSuccess ? n_free : 0;
  }
  bool is_lost() const override { return is_lost_; }
  const KernelTable& kernels() const override { return runtime_kernels(); }
  Stream stream() const override { return stream_; }
  void attach() override { note(cudaSetDevice(idx_)); }

  Result<void*> allocate(size_t n_bytes) override {
    attach();
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, n_bytes);
    if (error != cudaSuccess) return no_memory("the GPU", n_bytes, error);
    device_memory_.push_back(memory);
    return memory;
  }
  Result<void*> allocate_pinned(size_t n_bytes) override {
    attach();
    void* memory = nullptr;
    const cudaError_t error = cudaHostAlloc(&memory, n_bytes, cudaHostAllocDefault);
    if (error != cudaSuccess) return no_memory("this machine", n_bytes, error);
    pinned_memory_.push_back(memory);
    return memory;
  }
  void free(void* memory) override {
    attach();
    note(cudaStreamSynchronize(stream_));
    std::erase(device_memory_, memory);
    note(cudaFree(memory));
  }
  size_t shared_allocation_bytes() const override { return kSharedBytes; }
  void free_pinned(void* memory) override {
    std::erase(pinned_memory_, memory);
    note(cudaFreeHost(memory));
  }
  void upload(void* to, const void* from, size_t n_bytes) override {
    attach();
    note(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyHostToDevice, stream_));
  }
  void download(void* to, const void* from, size_t n_bytes) override {
    attach();
    note(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyDeviceToHost, stream_));
  }
  void copy(void* to, const void* from, size_t n_bytes) override {
    attach();
    note(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyDeviceToDevice, stream_));
  }
  // The copy waits until readers here are done with its target; it runs where its source is.
  void receive(void* to, Device& from_device, const void* from, size_t n_bytes) override {
    auto& other = static_cast<RuntimeDevice&>(from_device);
    attach();
    const cudaEvent_t wanted = event(crossings_, kWanted, cudaEventDisableTiming);
    note(cudaEventRecord(wanted, stream_));
    const cudaEvent_t sent = other.send(to, idx_, from, n_bytes, wanted);
    attach();
    note(cudaStreamWaitEvent(stream_, sent));
  }
  void clear(void* memory, size_t n_bytes) override { note(cudaMemsetAsync(memory, 0, n_bytes, stream_)); }
  Status begin_capture() override {
    note(cudaGetLastError());
    error_before_capture_ = std::exchange(error_, cudaSuccess);
    note(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    return error_ == cudaSuccess ? Status() : status_of_capture();
  }
  Result<GraphId> end_capture() override {
    note(cudaGetLastError());
    cudaGraph_t graph = nullptr;
    note(cudaStreamEndCapture(stream_, &graph));
    cudaGraphExec_t recorded = nullptr;
    if (error_ == cudaSuccess) note(cudaGraphInstantiate(&recorded, graph, 0));
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();  // errors of these calls are recorded
    RZ_CHECK_OK(status_of_capture());
    graphs_.push_back(recorded);
    return GraphId{static_cast<uint32_t>(graphs_.size() - 1)};
  }
  void replay(GraphId id) override { note(cudaGraphLaunch(graphs_[static_cast<uint32_t>(id)], stream_)); }
  void drop(GraphId id) override { cudaGraphExecDestroy(std::exchange(graphs_[static_cast<uint32_t>(id)], nullptr)); }
  void upload_aside(uint32_t buffer, void* to, const void* from, size_t n_bytes) override {
    note(cudaStreamWaitEvent(copy_stream_, event(released_, buffer, cudaEventDisableTiming)));
    note(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyHostToDevice, copy_stream_));
    note(cudaEventRecord(event(filled_, buffer, cudaEventDisableTiming), copy_stream_));
  }
  void acquire(uint32_t buffer) override {
    note(cudaStreamWaitEvent(stream_, event(filled_, buffer, cudaEventDisableTiming)));
  }
  Status wait_aside(uint32_t buffer) override {
    attach();
    note(cudaEventSynchronize(event(filled_, buffer, cudaEventDisableTiming)));
    return error_ == cudaSuccess ? Status() : status();
  }
  void release(uint32_t buffer) override {
    note(cudaEventRecord(event(released_, buffer, cudaEventDisableTiming), stream_));
  }
  void mark_time(uint32_t place) override { note(cudaEventRecord(event(times_, place, cudaEventDefault), stream_)); }
  double ms_between(uint32_t first_place, uint32_t last_place) override {
    float ms = 0;
    note(cudaEventElapsedTime(&ms, times_[first_place], times_[last_place]));
    return ms;
  }
  std::optional<DeviceFailure> failure() override {
    note(cudaGetLastError());
    if (error_ == cudaSuccess) return std::nullopt;
    return DeviceFailure{error_of(error_), !is_of_running(error_)};
  }
  bool is_busy() override {
    attach();
    return cudaStreamQuery(stream_) == cudaErrorNotReady;
  }
  Status wait() override {
    attach();
    note(cudaGetLastError());
    note(cudaStreamSynchronize(stream_));
    return status();
  }

 private:
  enum CrossingEvent : uint32_t { kWanted, kSent };

  // Starts the copy after the event `wanted`; returns the event of its end.
  cudaEvent_t send(void* to, int to_idx, const void* from, size_t n_bytes, cudaEvent_t wanted) {
    attach();
    reach(to_idx);
    note(cudaStreamWaitEvent(stream_, wanted));
    note(cudaMemcpyPeerAsync(to, to_idx, from, idx_, n_bytes, stream_));
    const cudaEvent_t sent = event(crossings_, kSent, cudaEventDisableTiming);
    note(cudaEventRecord(sent, stream_));
    return sent;
  }
  // Enables direct copies to that device if the machine supports them; otherwise the runtime goes through the host.
  void reach(int to_idx) {
    if (to_idx == idx_) return;
    if (is_reached_.size() <= static_cast<size_t>(to_idx)) is_reached_.resize(static_cast<size_t>(to_idx) + 1);
    if (is_reached_[static_cast<size_t>(to_idx)]) return;
    is_reached_[static_cast<size_t>(to_idx)] = true;
    int can_reach = 0;
    note(cudaDeviceCanAccessPeer(&can_reach, idx_, to_idx));
    // Fails if another model has enabled it already.
    if (can_reach != 0 && cudaDeviceEnablePeerAccess(to_idx, 0) != cudaSuccess) cudaGetLastError();
  }
  // The first error since the last status() is the cause of the others.
  void note(cudaError_t error) {
    if (error_ == cudaSuccess) error_ = error;
  }
  // A failed recording can be launched instead; earlier failures are reported by the next wait().
  Status status_of_capture() {
    Status of_capture = status();
    error_ = error_before_capture_;
    return of_capture;
  }
  Status status() {
    const cudaError_t error = std::exchange(error_, cudaSuccess);
    if (error == cudaSuccess) return {};
    // An unrecoverable error shows in every later call. Synchronizing the stream is allowed, since no capture is open
    // here: begin_capture() calls this before one, end_capture() after it, and wait() never within one.
    is_lost_ = cudaStreamSynchronize(stream_) != cudaSuccess;
    return error_of(error);
  }
  Error error_of(cudaError_t error) const {
    return {ErrorCode::kInternal, fmt::format("{}: {}", info_.name, words(error)), "cuda"};
  }
  // The event with this number, created on first use. Waiting for an event that was never recorded returns at once.
  cudaEvent_t event(std::vector<cudaEvent_t>& events, uint32_t idx, unsigned flags) {
    while (events.size() <= idx) {
      cudaEvent_t made = nullptr;
      note(cudaEventCreateWithFlags(&made, flags));
      events.push_back(made);
    }
    return events[idx];
  }
  static Error no_memory(const char* where, size_t n_bytes, cudaError_t error) {
    cudaGetLastError();  // reported here, so not again by wait()
    return {ErrorCode::kResourceExhausted, fmt::format("{} has no {} bytes left: {}", where, n_bytes, words(error)),
            "memory"};
  }

  int idx_;
  DeviceInfo info_;
  cudaStream_t stream_ = nullptr, copy_stream_ = nullptr;
  bool is_lost_ = false;
  std::vector<cudaEvent_t> filled_, released_;  // for buffers filled by upload_aside
  std::vector<cudaEvent_t> crossings_;          // CrossingEvent
  std::vector<bool> is_reached_;                // by device number
  std::vector<cudaEvent_t> times_;
  cudaError_t error_ = cudaSuccess, error_before_capture_ = cudaSuccess;
  std::vector<cudaGraphExec_t> graphs_;  // null if dropped
  std::vector<void*> device_memory_, pinned_memory_;
};

Result<DeviceInfo> info_of(int idx) {
  cudaDeviceProp properties{};
  cudaError_t error = cudaGetDeviceProperties(&properties, idx);
  DeviceInfo info{properties.name, 0, 0, properties.major, properties.minor, 0};
  if (error == cudaSuccess) error = cudaSetDevice(idx);
  if (error == cudaSuccess) error = cudaMemGetInfo(&info.free_bytes, &info.total_bytes);
  if (error == cudaSuccess) error = cudaDriverGetVersion(&info.driver_version);
  if (error == cudaSuccess) return info;
  return unsupported(fmt::format("GPU {} cannot be used: {}", idx, words(error)), "backend");
}

}  // namespace

bool is_built() {
  return true;
}

Result<uint32_t> count_devices() {
  int n_devices = 0, driver_version = 0;
  const cudaError_t error = cudaGetDeviceCount(&n_devices);
  cudaDriverGetVersion(&driver_version);
  if (error == cudaErrorNoDevice || (error != cudaSuccess && driver_version == 0)) {
    return not_found("this machine has no NVIDIA GPU, or no driver for it", "backend");
  }
  if (error == cudaErrorInsufficientDriver) {
    return unsupported(fmt::format("the GPU's driver is for CUDA {}, expected {} or newer", version(driver_version),
                                   version(CUDART_VERSION / 1000 * 1000)),
                       "backend");
  }
  if (error != cudaSuccess) return unsupported("no GPU can be used: " + words(error), "backend");
  return static_cast<uint32_t>(n_devices);
}

Result<std::vector<DeviceInfo>> list_devices() {
  RZ_TRY(const uint32_t n_devices, count_devices());
  std::vector<DeviceInfo> devices;
  for (uint32_t i = 0; i < n_devices; ++i) {
    RZ_TRY(DeviceInfo info, info_of(static_cast<int>(i)));
    devices.push_back(std::move(info));
  }
  return devices;
}

Result<std::unique_ptr<Device>> open_device(uint32_t idx) {
  RZ_TRY(const uint32_t n_devices, count_devices());
  if (idx >= n_devices) {
    return invalid_argument(
        fmt::format("device: expected one of the {} GPUs of this machine, counted from 0, actual {}", n_devices, idx),
        "device");
  }
  RZ_TRY(const DeviceInfo info, info_of(static_cast<int>(idx)));
  if (info.major < kLeastMajor) {
    return unsupported(fmt::format("{} has compute capability {}.{}, expected {}.0 or more", info.name, info.major,
                                   info.minor, kLeastMajor),
                       "device");
  }
  auto device = std::make_unique<RuntimeDevice>(idx, info);
  RZ_CHECK_OK(device->open());
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace realizar::cuda
