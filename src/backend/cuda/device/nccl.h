// NVIDIA's library for exchanges between GPUs, found at run time.
#pragma once

#include "backend/cuda/device/exchange.h"

namespace realizar::cuda {

// Connects these GPUs, in this order, each named once. Errors: NotFound (no such library), Internal.
Result<std::unique_ptr<DeviceExchange>> open_nccl(std::span<const uint32_t> devices);

// An exchange between processes with one GPU each.

class NcclExchange : public DeviceExchange {
 public:
  // Aborts: no further exchange is possible, and nothing here waits for others.
  virtual void abort() = 0;
};
// Rendezvous id; all zeros: none.
struct NcclId {
  char bytes[128];
};
bool has_nccl();
// Created by one process, which sends it to the others. Precondition: has_nccl().
NcclId make_nccl_id();
// Called by all of them, with the GPU that the thread is attached to; they wait for each other. Errors: as open_nccl;
// the library may refuse to connect them.
Result<std::unique_ptr<NcclExchange>> join_nccl(const NcclId& id, uint32_t rank, uint32_t n_ranks);

}  // namespace realizar::cuda
