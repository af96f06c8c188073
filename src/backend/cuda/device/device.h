// The interface of a device: memory, copies in the order of one stream, kernels. Implemented by the CUDA runtime, and
// in tests by an emulator. One thread at a time may call.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "backend/cuda/kernels/grid.h"
#include "realizar/result.h"

namespace realizar::cuda {

struct KernelTable;
enum class GraphId : uint32_t {};

// An error from earlier calls.
struct DeviceFailure {
  Error error;
  // The last call itself failed. Otherwise running work failed, and the last call only reported it.
  bool is_of_call = false;
};

// Alignment of allocations.
inline constexpr size_t kAllocationAlign = 256;
inline size_t aligned_bytes(size_t n_bytes) {
  return (n_bytes + kAllocationAlign - 1) / kAllocationAlign * kAllocationAlign;
}

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;         // "cuda:0"
  virtual std::string description() const = 0;  // "NVIDIA H200 (9.0), driver 13.0"
  // The device's memory, and its free part.
  virtual size_t total_bytes() const = 0;
  virtual size_t free_bytes() const = 0;
  // Whether the device is unusable for good.
  virtual bool is_lost() const = 0;
  virtual const KernelTable& kernels() const = 0;
  virtual Stream stream() const = 0;
  // Attaches the calling thread for launches. allocate, upload, download, copy, receive and wait attach too; kernels,
  // captures, replays, and queries of buffers and times require an attached thread.
  virtual void attach() = 0;

  // Aligned to kAllocationAlign, uninitialized, freed with the device or by free(). Errors: ResourceExhausted.
  virtual Result<void*> allocate(size_t n_bytes) = 0;
  // Frees memory of allocate after all work in the stream. Not allowed within a capture.
  virtual void free(void* memory) = 0;
  // Size of allocations that small objects should share, since a driver maps large pieces. 0: no need to share.
  virtual size_t shared_allocation_bytes() const = 0;
  // Allocates host memory that the device reads asynchronously: by copies, and by kernels in place.
  virtual Result<void*> allocate_pinned(size_t n_bytes) = 0;
  // Frees memory of allocate_pinned; no copy may still read it.
  virtual void free_pinned(void* memory) = 0;
  // Copies in stream order. `from` of an upload and `to` of a download must live until wait().
  virtual void upload(void* to, const void* from, size_t n_bytes) = 0;
  virtual void download(void* to, const void* from, size_t n_bytes) = 0;
  // Copies within the device's memory.
  virtual void copy(void* to, const void* from, size_t n_bytes) = 0;
  // Copies from the memory of another device of the same class, in the order of both streams.
  virtual void receive(void* to, Device& from_device, const void* from, size_t n_bytes) = 0;
  // Writes zeros in stream order.
  virtual void clear(void* memory, size_t n_bytes) = 0;
  // Kernels launched between these are recorded and not run, even if end_capture fails. Errors: Internal (the recording
  // could not start or failed); errors of calls before begin_capture are still reported by the next wait().
  virtual Status begin_capture() = 0;
  virtual Result<GraphId> end_capture() = 0;
  // Runs a recording, in stream order.
  virtual void replay(GraphId id) = 0;
  virtual void drop(GraphId id) = 0;
  // Copies into a numbered buffer while kernels of the stream run: the copies start when the kernels launched before
  // the last release() have ended; kernels after acquire() see them.
  virtual void upload_aside(uint32_t buffer, void* to, const void* from, size_t n_bytes) = 0;
  virtual void acquire(uint32_t buffer) = 0;
  // Waits until all copies into the buffer have read their source. Errors: as wait.
  virtual Status wait_aside(uint32_t buffer) = 0;
  virtual void release(uint32_t buffer) = 0;
  // Records the time at this point in the stream; after wait(), ms_between returns the time between two such points.
  virtual void mark_time(uint32_t place) = 0;
  virtual double ms_between(uint32_t first_place, uint32_t last_place) = 0;
  // Errors known without waiting; called after each launch, also within a capture. wait() reports them too.
  virtual std::optional<DeviceFailure> failure() = 0;
  // Whether work in the stream is unfinished.
  virtual bool is_busy() = 0;
  // Waits until all work in the stream is done. Errors: Internal, by name, for anything since the last call.
  virtual Status wait() = 0;
};

}  // namespace realizar::cuda
