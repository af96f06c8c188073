#include "api/rank_backend.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "api/memory_needs.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/device/nccl.h"
#include "backend/cuda/device/runtime.h"
#include "backend/reference/reference_backend.h"
#include "base/cpu_features.h"
#include "base/try.h"

namespace realizar {

namespace {

// The ranks of a host use one GPU each, in order, or all of them the one that is named.
Result<uint32_t> gpu_of(const std::vector<uint32_t>& named, const Exchange& exchange) {
  if (named.size() == 1) return named.front();
  RZ_TRY(const uint32_t n_here, cuda::count_devices());
  const auto n_gpus = named.empty() ? n_here : static_cast<uint32_t>(named.size());
  const uint32_t idx = exchange.host_rank();
  if (idx >= n_gpus) {
    return invalid_argument(
        fmt::format("device: expected one GPU for each of the {} ranks of this host, actual {}; one "
                    "that is named (--device 0) is that of all ranks",
                    exchange.n_host_ranks(), n_gpus),
        "device");
  }
  return named.empty() ? idx : named[idx];
}

// NCCL allocates GPU memory when the first sum is computed.
Result<std::unique_ptr<Backend>> make_cuda_backend(const LoadOptions& options, Exchange& exchange,
                                                   const RankNeeds& needs) {
  constexpr uint64_t kNcclBytes = uint64_t{512} << 20;
  cuda::CudaOptions own;
  own.memory_bytes = options.gpu.memory_mb << 20;
  own.other_bytes = needs.other_bytes + (cuda::has_nccl() ? kNcclBytes : 0);
  own.kv_bytes = needs.kv_bytes;
  own.weight_bytes = needs.weight_bytes;
  own.n_layers = needs.n_layers;
  own.n_gpu_layers = options.gpu.n_layers;
  own.host_bytes = gpu_host_bytes(options.gpu) / exchange.n_host_ranks();
  own.layer_folder = options.gpu.layer_dir;
  own.exchange = &exchange;
  own.tries_nccl = true;
  RZ_TRY(const uint32_t idx, gpu_of(options.gpu.devices, exchange));
  std::vector<std::unique_ptr<cuda::Device>> devices(1);
  RZ_TRY(devices[0], cuda::open_device(idx));
  return cuda::make_backend(std::move(devices), own);
}

}  // namespace

bool have_gpus(const LoadOptions& options, const Exchange& exchange) {
  const auto n_gpus = cuda::count_devices();
  const size_t n_named = options.gpu.devices.size();
  const size_t n_here = n_gpus.ok() ? *n_gpus : 0;
  return n_here > 0 && (n_named == 1 || (n_named > 0 ? n_named : n_here) >= exchange.n_host_ranks());
}

// Ranks on one host share its cores, unless each of them was given its own.
Result<std::unique_ptr<Backend>> make_rank_backend(const LoadOptions& options, Exchange& exchange,
                                                   const RankNeeds& needs) {
  if (options.backend == BackendChoice::kReference) return make_reference_backend(&exchange);
  if (options.backend == BackendChoice::kCuda) return make_cuda_backend(options, exchange, needs);
  uint32_t n_threads = options.cpu.n_threads;
  if (n_threads == 0) {
    const bool has_own_cores = n_usable_cores() < static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
    n_threads = has_own_cores ? n_usable_cores() : std::max(1u, n_usable_cores() / exchange.n_host_ranks());
  }
  return cpu::make_cpu_backend(
      {.n_threads = n_threads, .isa = static_cast<cpu::CpuIsa>(options.cpu.isa), .exchange = &exchange});
}

}  // namespace realizar
