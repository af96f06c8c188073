// NVIDIA's library for exchanges between GPUs, found when the program runs.
#pragma once

#include "backend/cuda/device/exchange.h"

namespace realizar::cuda {

// Between these GPUs, in this order, each named once. Errors: NotFound (the library is not there), Internal.
Result<std::unique_ptr<DeviceExchange>> open_nccl(std::span<const uint32_t> devices);

// Between processes with one GPU each.

class NcclExchange : public DeviceExchange {
 public:
  // Nothing can be exchanged any more, and nobody here waits for others.
  virtual void give_up() = 0;
};
// By which they find each other; all zeros: by none.
struct NcclId {
  char bytes[128];
};
bool has_nccl();
// For one of them to tell the others. Precondition: has_nccl().
NcclId make_nccl_id();
// All of them call it, with the GPU that the thread is attached to, and wait for each other. Errors: as open_nccl; the
// library may refuse to connect them.
Result<std::unique_ptr<NcclExchange>> join_nccl(const NcclId& id, uint32_t rank, uint32_t n_ranks);

}  // namespace realizar::cuda
