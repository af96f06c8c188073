#include "api/ranks.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/memory_needs.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/device/nccl.h"
#include "backend/cuda/device/runtime.h"
#include "backend/ranks/rank_messages.h"
#include "backend/ranks/ranked_backend.h"
#include "backend/reference/reference_backend.h"
#include "base/cpu_features.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "engine/cache_sizes.h"
#include "model/fingerprint.h"
#include "model/model.h"
#include "realizar/engine.h"

namespace realizar {
namespace {

using namespace ranks;

constexpr size_t kTextBytes = 400;

// The message of rank 0 about the model, sent before its path.
struct LoadHead {
  uint64_t program_hash, file_hash;
  uint32_t n_ctx;
  RopeSettings rope;
  BackendLimits limits;
  RankOptions split;
  Split split_option;
  BackendChoice backend;
  CpuSettings cpu;
  uint64_t other_bytes;  // of RankNeeds, which is sent with the cache's layout
};

void write(ByteWriter& to, const GpuSettings& gpu) {
  to.add_list(std::span(gpu.devices));
  to.add(gpu.n_layers);
  to.add(gpu.memory_mb);
  to.add(gpu.host_memory_mb);
  to.add_text(gpu.layer_dir);
}
GpuSettings read_gpu(ByteReader& from) {
  GpuSettings gpu;
  from.take_list(gpu.devices);
  gpu.n_layers = from.take<std::optional<uint32_t>>();
  gpu.memory_mb = from.take<uint64_t>();
  gpu.host_memory_mb = from.take<uint64_t>();
  gpu.layer_dir = from.take_text();
  return gpu;
}

struct LoadReply {
  ErrorCode code = {};
  bool is_ok = true;
  char message[kTextBytes] = {};
  char arithmetic[kTextBytes] = {};
};

LoadReply reply_of(const Status& status, const std::string& arithmetic) {
  LoadReply reply;
  arithmetic.copy(reply.arithmetic, kTextBytes - 1);
  if (status.ok()) return reply;
  reply.is_ok = false;
  reply.code = status.error().code;
  status.error().message.copy(reply.message, kTextBytes - 1);
  return reply;
}

// Identifies the running program: ranks of another one would encode their messages differently.
Result<uint64_t> program_hash() {
  RZ_TRY(const MappedFile program, MappedFile::open("/proc/self/exe"));
  return XXH3_64bits(program.bytes().data(), program.bytes().size());
}

// Hashes the config, and the names and beginnings of a few hundred tensors across the file.
uint64_t file_hash(const ModelFile& file, const ModelConfig& config) {
  constexpr size_t kMaxTensors = 256, kBytes = 64;
  const auto tensors = file.tensors();
  const size_t step = std::max<size_t>(1, tensors.size() / kMaxTensors);
  uint64_t hash = XXH3_64bits_withSeed(nullptr, 0, file.file_bytes() ^ hash_of(config) ^ tensors.size());
  for (size_t i = 0; i < tensors.size(); i += step) {
    const TensorInfo& tensor = tensors[i];
    hash = XXH3_64bits_withSeed(tensor.name.data(), tensor.name.size(), hash + static_cast<uint64_t>(tensor.type));
    hash = XXH3_64bits_withSeed(tensor.shape.data(), tensor.shape.size() * sizeof(uint64_t), hash);
    hash = XXH3_64bits_withSeed(tensor.data.data(), std::min(tensor.data.size(), kBytes), hash);
  }
  return hash;
}

Status check_options(const LoadOptions& options) {
  if (options.adapters.n_slots > 0 || !options.adapters.sources.empty()) {
    return unsupported("ranks that share a model do not support adapters", "lora");
  }
  return {};
}

// Without other_bytes.
Result<RankNeeds> needs_of(const ModelFile& file, const ModelConfig& config, const LoadHead& head,
                           const CacheLayout& cache, const Exchange& exchange) {
  if (head.backend != BackendChoice::kCuda) return RankNeeds{};
  const uint32_t rank = exchange.rank(), n_ranks = exchange.n_ranks();
  RZ_TRY(const RankShares shares, find_rank_shares(file, config, head.split_option, n_ranks));
  return RankNeeds{shares.weight_bytes[rank], rank_kv_bytes(cache, head.split, rank, n_ranks), head.other_bytes,
                   config.n_layers};
}

Status send(Exchange& exchange, uint32_t to, std::span<const std::byte> bytes) {
  const Exchange::Outgoing message{to, bytes};
  return exchange.transfer({&message, 1}, {});
}

Status receive(Exchange& exchange, uint32_t from, std::span<std::byte> bytes) {
  const Exchange::Incoming message{from, bytes};
  return exchange.transfer({}, {&message, 1});
}

template <class Value>
std::span<std::byte> bytes_of(Value& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

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

Result<std::unique_ptr<Backend>> Ranks::begin_load(const ModelFile& file, const ModelConfig& config,
                                                   const LoadOptions& options,
                                                   const engine::EngineOptions& engine_options,
                                                   const MakeOwn& make_own) {
  if (is_shared_.exchange(true)) return unsupported("ranks share one model at a time", "model");
  auto backend = tell_load(file, config, options, engine_options, make_own);
  if (!backend.ok()) release();
  return backend;
}

Result<std::unique_ptr<Backend>> Ranks::tell_load(const ModelFile& file, const ModelConfig& config,
                                                  const LoadOptions& options,
                                                  const engine::EngineOptions& engine_options,
                                                  const MakeOwn& make_own) {
  RZ_CHECK_OK(check_options(options));
  RZ_TRY(const uint64_t own_program, program_hash());
  const RankOptions split{rank_split(options.gpu.split), config.n_layers, head_layers(file, config)};
  const BackendLimits limits = engine::limits_for(engine_options);
  const uint32_t n_sharing = split.split == RankSplit::kLayer ? 1 : exchange_.n_ranks();
  const bool is_cuda = options.backend == BackendChoice::kCuda;
  const LoadHead load{own_program,
                      file_hash(file, config),
                      options.n_ctx,
                      options.rope,
                      limits,
                      split,
                      options.gpu.split,
                      options.backend,
                      options.cpu,
                      is_cuda ? gpu_other_bytes(file, config, engine_options, limits, n_sharing) : 0};
  const CacheLayout cache = engine::cache_layout_for(config, engine_options);
  RZ_TRY(const RankNeeds needs, needs_of(file, config, load, cache, exchange_));
  RZ_TRY(auto own, make_own(options, exchange_, needs));
  RZ_TRY(auto backend, make_ranked_backend(std::move(own), exchange_, split));
  ByteWriter told;
  told.add(load);
  told.add_text(file.path().string());
  write(told, options.gpu);
  ranks::write(told, cache);
  OrderHead head{Order::kLoad, static_cast<uint32_t>(told.bytes().size())};
  for (uint32_t to = 1; to < exchange_.n_ranks(); ++to) {
    RZ_CHECK_OK(send(exchange_, to, bytes_of(head)));
    RZ_CHECK_OK(send(exchange_, to, told.bytes()));
  }
  return backend;
}

Status Ranks::end_load(const Status& own, const Backend& backend) {
  const LoadReply first = reply_of(own, backend.info().arithmetic);
  Status status = own;
  for (uint32_t from = 1; from < exchange_.n_ranks(); ++from) {
    LoadReply reply;
    RZ_CHECK_OK(receive(exchange_, from, bytes_of(reply)));
    if (!status.ok()) continue;
    const std::string name = exchange_.name_of(from);
    if (!reply.is_ok) {
      status = Error{reply.code, name + ": " + reply.message, "ranks"};
    } else if (std::string_view(reply.arithmetic) != first.arithmetic) {
      status = invalid_argument(fmt::format("{} computes by {}, and rank 0 by {}: give all ranks the same --isa", name,
                                            reply.arithmetic, first.arithmetic),
                                "isa");
    }
  }
  return status;
}

void Ranks::release() {
  is_shared_ = false;
}

void Ranks::end() {
  OrderHead head{Order::kQuit};
  for (uint32_t to = 1; to < exchange_.n_ranks(); ++to) {
    if (!send(exchange_, to, bytes_of(head)).ok()) return;
  }
}

Status Ranks::follow(const MakeOwn& make_own) {
  while (true) {
    OrderHead head{};
    RZ_TRY(const size_t n_bytes, exchange_.receive({0, bytes_of(head)}));
    static_cast<void>(n_bytes);
    if (head.order == Order::kQuit) return {};
    if (head.order != Order::kLoad) continue;  // the end of a model that this rank failed to load
    std::vector<std::byte> told(head.a);
    RZ_CHECK_OK(receive(exchange_, 0, told));
    RZ_CHECK_OK(load_and_follow(told, make_own));
  }
}

Status Ranks::load_and_follow(std::span<const std::byte> told, const MakeOwn& make_own) {
  ByteReader from(told);
  const auto head = from.take<LoadHead>();
  const std::string path = from.take_text();
  const GpuSettings gpu = read_gpu(from);
  const CacheLayout cache = read_layout(from);
  std::unique_ptr<Backend> backend;
  const auto load = [&]() -> Status {
    RZ_TRY(const uint64_t own_program, program_hash());
    if (own_program != head.program_hash) {
      return invalid_argument(
          fmt::format("its program is another one than rank 0's: expected version {} on all hosts", version()),
          "version");
    }
    RZ_TRY(const ModelFile file, ModelFile::open(path));
    const auto load_weights = [&]() -> Status {
      const ModelOptions options{.n_ctx = head.n_ctx, .rope = head.rope};
      RZ_TRY(const ModelConfig config, read_config(file, options));
      if (file_hash(file, config) != head.file_hash) {
        return invalid_argument(path + " is another model here than on rank 0", "model");
      }
      RZ_TRY(const RankNeeds needs, needs_of(file, config, head, cache, exchange_));
      RZ_TRY(auto own, make_own({.backend = head.backend, .cpu = head.cpu, .gpu = gpu}, exchange_, needs));
      RZ_TRY(backend, make_ranked_backend(std::move(own), exchange_, head.split));
      RZ_CHECK_OK(backend->configure(head.limits));
      RZ_TRY(const Model model, Model::load(file, config, *backend, options));
      return {};
    };
    return file.checked(load_weights());
  };
  const Status status = load();
  LoadReply reply = reply_of(status, backend != nullptr ? backend->info().arithmetic : "");
  RZ_CHECK_OK(send(exchange_, 0, bytes_of(reply)));
  return status.ok() ? ranks::follow(*backend) : Status();
}

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
