// What the backend needs of a device: memory, copies in the order of one stream, kernels. The CUDA runtime is one; the
// tests have another that runs on the processor. One thread at a time calls.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "backend/cuda/kernels/grid.h"
#include "realizar/result.h"

namespace realizar::cuda {

struct KernelTable;
enum class GraphId : uint32_t {};

// An error of the calls so far.
struct DeviceFailure {
  Error error;
  // The device refused the last call itself. Else something failed while it ran, and the last call only told of it.
  bool is_of_call = false;
};

// What allocations are aligned to.
inline constexpr size_t kAllocationAlign = 256;
inline size_t aligned_bytes(size_t n_bytes) {
  return (n_bytes + kAllocationAlign - 1) / kAllocationAlign * kAllocationAlign;
}

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;         // "cuda:0"
  virtual std::string description() const = 0;  // "NVIDIA H200 (9.0), driver 13.0"
  // The device's memory, and what of it nobody has yet.
  virtual size_t total_bytes() const = 0;
  virtual size_t free_bytes() const = 0;
  // Nothing can be run on it any more, whatever is tried.
  virtual bool is_lost() const = 0;
  virtual const KernelTable& kernels() const = 0;
  virtual Stream stream() const = 0;
  // The calling thread launches here from now on. So it does after allocate, upload, download, copy, receive and wait;
  // kernels, captures, replays, and what is asked of buffers and times must follow one of these.
  virtual void attach() = 0;

  // Aligned to kAllocationAlign, uninitialized, freed with the device where free() does not. Errors: ResourceExhausted.
  virtual Result<void*> allocate(size_t n_bytes) = 0;
  // Gives back what allocate gave, once all that was given to the stream is done. Not to be called within a capture.
  virtual void free(void* memory) = 0;
  // The driver maps memory in large pieces: many small things had better share allocations of this size. 0: each may
  // have its own.
  virtual size_t shared_allocation_bytes() const = 0;
  // Allocates memory of the host that the device reads while the processor goes on: by copies, and by kernels in place.
  virtual Result<void*> allocate_pinned(size_t n_bytes) = 0;
  // Gives back what allocate_pinned gave, when no copy reads it any more.
  virtual void free_pinned(void* memory) = 0;
  // Copies in the stream's order. `from` of an upload and `to` of a download must live until wait().
  virtual void upload(void* to, const void* from, size_t n_bytes) = 0;
  virtual void download(void* to, const void* from, size_t n_bytes) = 0;
  // Copies within the device's memory.
  virtual void copy(void* to, const void* from, size_t n_bytes) = 0;
  // Copies from the memory of another device of the same class, in the order of both streams.
  virtual void receive(void* to, Device& from_device, const void* from, size_t n_bytes) = 0;
  // Writes zeros, in the stream's order, as a kernel would.
  virtual void clear(void* memory, size_t n_bytes) = 0;
  // Kernels launched between these are recorded, and not run, whatever end_capture gives. Errors: Internal (no
  // recording can be begun, or none was made); those of calls before begin_capture still show at the next wait().
  virtual Status begin_capture() = 0;
  virtual Result<GraphId> end_capture() = 0;
  // Runs what was recorded, in the stream's order.
  virtual void replay(GraphId id) = 0;
  virtual void drop(GraphId id) = 0;
  // Copies into a buffer, which has a number, while the stream's kernels run: the copies begin once the kernels that
  // were given to the stream before the last release() have ended; kernels after acquire() find them there.
  virtual void upload_aside(uint32_t buffer, void* to, const void* from, size_t n_bytes) = 0;
  virtual void acquire(uint32_t buffer) = 0;
  // Waits until all copies into the buffer have read what they copy. Errors: as wait.
  virtual Status wait_aside(uint32_t buffer) = 0;
  virtual void release(uint32_t buffer) = 0;
  // Notes the time at this place of the stream's order; after wait(), the time between two such places.
  virtual void mark_time(uint32_t place) = 0;
  virtual double ms_between(uint32_t first_place, uint32_t last_place) = 0;
  // What is known without waiting; asked after each launch, also within a capture. wait() tells it too.
  virtual std::optional<DeviceFailure> failure() = 0;
  // Something that was given to the stream is not done yet.
  virtual bool is_busy() = 0;
  // Waits until all that was given to the stream is done. Errors: Internal, by name, of anything since the last call.
  virtual Status wait() = 0;
};

}  // namespace realizar::cuda
