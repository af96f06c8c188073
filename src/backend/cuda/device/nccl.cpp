#include "backend/cuda/device/nccl.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/symbol.h"
#include "base/try.h"

namespace realizar::cuda {
namespace {

constexpr const char* kNcclLibrary = "libnccl.so.2";

// The parts of nccl.h in use; the library keeps them stable within version 2.
using NcclComm = void*;
using NcclResult = int;
constexpr NcclResult kNcclSuccess = 0, kNcclInProgress = 7;
constexpr int kNcclFloat32 = 7;

struct NcclCalls {
  NcclResult (*comm_init_all)(NcclComm* comms, int n_devices, const int* devices);
  NcclResult (*get_unique_id)(NcclId* id);
  NcclResult (*comm_init_rank)(NcclComm* comm, int n_ranks, NcclId id, int rank);
  NcclResult (*comm_destroy)(NcclComm comm);
  NcclResult (*comm_abort)(NcclComm comm);
  NcclResult (*comm_get_async_error)(NcclComm comm, NcclResult* result);
  NcclResult (*group_start)();
  NcclResult (*group_end)();
  NcclResult (*all_gather)(const void* from, void* to, size_t n, int type, NcclComm comm, Stream stream);
  const char* (*error_string)(NcclResult result);
};

// Stays loaded, since it has threads of its own.
Result<NcclCalls> load_nccl() {
  void* library = dlopen(kNcclLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return not_found(
        std::string("--split tensor wants NVIDIA's ") + kNcclLibrary + ", which cannot be loaded: " + dlerror(),
        "split");
  }
  NcclCalls calls{};
  const bool is_whole = find_symbol(library, "ncclCommInitAll", calls.comm_init_all) &&
                        find_symbol(library, "ncclGetUniqueId", calls.get_unique_id) &&
                        find_symbol(library, "ncclCommInitRank", calls.comm_init_rank) &&
                        find_symbol(library, "ncclCommDestroy", calls.comm_destroy) &&
                        find_symbol(library, "ncclCommAbort", calls.comm_abort) &&
                        find_symbol(library, "ncclCommGetAsyncError", calls.comm_get_async_error) &&
                        find_symbol(library, "ncclGroupStart", calls.group_start) &&
                        find_symbol(library, "ncclGroupEnd", calls.group_end) &&
                        find_symbol(library, "ncclAllGather", calls.all_gather) &&
                        find_symbol(library, "ncclGetErrorString", calls.error_string);
  if (is_whole) return calls;
  return not_found(std::string(kNcclLibrary) + " lacks a call that --split tensor needs", "split");
}

class Communicators final : public NcclExchange {
 public:
  Communicators(const NcclCalls& calls, size_t n_devices) : calls_(calls), comms_(n_devices, nullptr) {}
  // In a group, since each may wait for the others.
  ~Communicators() override {
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

  Status join(const NcclId& id, uint32_t rank, uint32_t n_ranks) {
    return status(calls_.comm_init_rank(comms_.data(), static_cast<int>(n_ranks), id, static_cast<int>(rank)));
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
    // A started group must be ended.
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
  void abort() override {
    is_lost_ = true;
    for (NcclComm& comm : comms_) {
      if (comm != nullptr) calls_.comm_abort(std::exchange(comm, nullptr));
    }
  }

 private:
  static Error lost() {
    return {ErrorCode::kInternal, "NCCL: an error has ended the connection of the GPUs; load the model again", "cuda"};
  }
  // Aborting the communicators releases waiting devices, with undefined results.
  Status status(NcclResult result) {
    if (result == kNcclSuccess) return {};
    abort();
    return Error{ErrorCode::kInternal, std::string("NCCL: ") + calls_.error_string(result), "cuda"};
  }

  NcclCalls calls_;
  std::vector<NcclComm> comms_;  // null after an abort
  bool is_lost_ = false;
};

}  // namespace

Result<std::unique_ptr<DeviceExchange>> open_nccl(std::span<const uint32_t> devices) {
  RZ_TRY(const NcclCalls calls, load_nccl());
  auto exchange = std::make_unique<Communicators>(calls, devices.size());
  RZ_CHECK_OK(exchange->open(devices));
  return std::unique_ptr<DeviceExchange>(std::move(exchange));
}

bool has_nccl() {
  return load_nccl().ok();
}

NcclId make_nccl_id() {
  const auto calls = load_nccl();
  REQUIRE(calls.ok());
  NcclId id{};
  return calls->get_unique_id(&id) == kNcclSuccess ? id : NcclId{};
}

Result<std::unique_ptr<NcclExchange>> join_nccl(const NcclId& id, uint32_t rank, uint32_t n_ranks) {
  if (std::ranges::all_of(id.bytes, [](char byte) { return byte == 0; })) {
    return Error{ErrorCode::kInternal, "NCCL: the first process could not begin to connect the GPUs", "cuda"};
  }
  RZ_TRY(const NcclCalls calls, load_nccl());
  auto exchange = std::make_unique<Communicators>(calls, 1);
  RZ_CHECK_OK(exchange->join(id, rank, n_ranks));
  return std::unique_ptr<NcclExchange>(std::move(exchange));
}

}  // namespace realizar::cuda
