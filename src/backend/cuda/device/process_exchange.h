// Exchanges between processes that share a program and have one device each: parts of sums by NCCL, if all of them can,
// otherwise, like all other rows, through pinned memory and an Exchange. The bits are the same.
#pragma once

#include <memory>
#include <string>

#include "backend/cuda/device/exchange.h"
#include "backend/cuda/device/nccl.h"
#include "backend/row_exchange.h"

namespace realizar::cuda {

class ProcessExchange final : public DeviceExchange {
 public:
  // Both must outlive it. tries_nccl: if false, every sum with this process goes through host memory.
  ProcessExchange(Device& device, Exchange& exchange, bool tries_nccl)
      : device_(device), exchange_(exchange), rows_(&exchange), tries_nccl_(tries_nccl) {}

  uint32_t n_processes() const { return exchange_.n_ranks(); }
  // The path of sums; empty until it is chosen.
  std::string way_of_sums() const;

  // Between steps: pins memory for exchanges of n_floats in all processes together. Errors: ResourceExhausted.
  Status reserve(size_t n_floats);

  // During steps, on the device; `parts` is only this process's. Errors: Internal; those of the device's previous work.
  Status gather(std::span<const Part> parts, size_t n_floats) override;
  // CollectOp for n_rows.
  Status collect(const CollectOp& op, uint32_t n_rows, std::span<const float> part, std::span<float> out);
  Status send(uint32_t to, std::span<const float> rows);
  Status receive(uint32_t from, std::span<float> rows);

  Status check() override;
  bool is_lost() const override { return exchange_.is_lost() || (nccl_ != nullptr && nccl_->is_lost()); }

 private:
  Status choose_way();
  Status try_nccl();
  Result<bool> all_say(bool own);
  Status gather_on_host(const Part& part, size_t n_floats);
  // Copies rows to the host, after all pending work in the pinned memory.
  Status fetch_rows(std::span<const float> rows, float* to);
  std::span<float> host(size_t first, size_t n_floats);

  Device& device_;
  Exchange& exchange_;
  RowExchange rows_;
  bool tries_nccl_;
  bool has_way_ = false;                // for sums
  std::unique_ptr<NcclExchange> nccl_;  // null: through host memory
  float* host_ = nullptr;               // pinned, [n_host_floats_]
  size_t n_host_floats_ = 0;
};

}  // namespace realizar::cuda
