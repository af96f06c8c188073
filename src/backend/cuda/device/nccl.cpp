#include "backend/cuda/device/nccl.h"

#include <dlfcn.h>

#include <string>
#include <utility>
#include <vector>

#include "base/try.h"

namespace realizar::cuda {
namespace {

constexpr const char* kNcclLibrary = "libnccl.so.2";

// The part of nccl.h that is used; the library keeps it stable within version 2.
using NcclComm = void*;
using NcclResult = int;
constexpr NcclResult kNcclSuccess = 0, kNcclInProgress = 7;
constexpr int kNcclFloat32 = 7;

struct NcclCalls {
  NcclResult (*comm_init_all)(NcclComm* comms, int n_devices, const int* devices);
  NcclResult (*comm_destroy)(NcclComm comm);
  NcclResult (*comm_abort)(NcclComm comm);
  NcclResult (*comm_get_async_error)(NcclComm comm, NcclResult* result);
  NcclResult (*group_start)();
  NcclResult (*group_end)();
  NcclResult (*all_gather)(const void* from, void* to, size_t n, int type, NcclComm comm, Stream stream);
  const char* (*error_string)(NcclResult result);
};

template <class Call>
bool find_call(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  return call != nullptr;
}

// Stays loaded: it has threads of its own.
Result<NcclCalls> load_nccl() {
  void* library = dlopen(kNcclLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return not_found(
        std::string("--split tensor wants NVIDIA's ") + kNcclLibrary + ", which cannot be loaded: " + dlerror(),
        "split");
  }
  NcclCalls calls{};
  const bool is_whole = find_call(library, "ncclCommInitAll", calls.comm_init_all) &&
                        find_call(library, "ncclCommDestroy", calls.comm_destroy) &&
                        find_call(library, "ncclCommAbort", calls.comm_abort) &&
                        find_call(library, "ncclCommGetAsyncError", calls.comm_get_async_error) &&
                        find_call(library, "ncclGroupStart", calls.group_start) &&
                        find_call(library, "ncclGroupEnd", calls.group_end) &&
                        find_call(library, "ncclAllGather", calls.all_gather) &&
                        find_call(library, "ncclGetErrorString", calls.error_string);
  if (is_whole) return calls;
  return not_found(std::string(kNcclLibrary) + " lacks a call that --split tensor needs", "split");
}

class NcclExchange final : public DeviceExchange {
 public:
  NcclExchange(const NcclCalls& calls, size_t n_devices) : calls_(calls), comms_(n_devices, nullptr) {}
  // In a group, since each may wait for the others.
  ~NcclExchange() override {
    calls_.group_start();
    for (const NcclComm comm : comms_) {
      if (comm != nullptr) calls_.comm_destroy(comm);
    }
    calls_.group_end();
  }

  Status open(std::span<const uint32_t> devices) {
    const std::vector<int> numbers(devices.begin(), devices.end());
    return status(calls_.comm_init_all(comms_.data(), static_cast<int>(numbers.size()), numbers.data()));
  }

  Status gather(std::span<const Part> parts, size_t n_floats) override {
    if (is_lost_) return lost();
    RZ_CHECK_OK(status(calls_.group_start()));
    NcclResult first = kNcclSuccess;
    for (size_t i = 0; i < parts.size(); ++i) {
      const NcclResult result =
          calls_.all_gather(parts[i].from, parts[i].to, n_floats, kNcclFloat32, comms_[i], parts[i].device->stream());
      if (first == kNcclSuccess) first = result;
    }
    // A group that was begun has to end.
    const NcclResult end = calls_.group_end();
    return status(first == kNcclSuccess ? end : first);
  }

  Status check() override {
    for (const NcclComm comm : comms_) {
      if (comm == nullptr) continue;
      NcclResult result = kNcclSuccess;
      const NcclResult call = calls_.comm_get_async_error(comm, &result);
      RZ_CHECK_OK(status(call != kNcclSuccess ? call : result == kNcclInProgress ? kNcclSuccess : result));
    }
    return is_lost_ ? lost() : Status();
  }

  bool is_lost() const override { return is_lost_; }

 private:
  static Error lost() {
    return {ErrorCode::kInternal, "NCCL: an error has ended the connection of the GPUs; load the model again", "cuda"};
  }
  // Devices that wait for others go on, with nothing of use, once the connections are given up.
  Status status(NcclResult result) {
    if (result == kNcclSuccess) return {};
    is_lost_ = true;
    for (NcclComm& comm : comms_) {
      if (comm != nullptr) calls_.comm_abort(std::exchange(comm, nullptr));
    }
    return Error{ErrorCode::kInternal, std::string("NCCL: ") + calls_.error_string(result), "cuda"};
  }

  NcclCalls calls_;
  std::vector<NcclComm> comms_;  // null where given up
  bool is_lost_ = false;
};

}  // namespace

Result<std::unique_ptr<DeviceExchange>> open_nccl(std::span<const uint32_t> devices) {
  RZ_TRY(const NcclCalls calls, load_nccl());
  auto exchange = std::make_unique<NcclExchange>(calls, devices.size());
  RZ_CHECK_OK(exchange->open(devices));
  return std::unique_ptr<DeviceExchange>(std::move(exchange));
}

}  // namespace realizar::cuda
