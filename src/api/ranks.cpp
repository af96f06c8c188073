#include "api/ranks.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/memory_needs.h"
#include "api/rank_shares.h"
#include "backend/ranks/rank_messages.h"
#include "backend/ranks/ranked_backend.h"
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

// The settings of a GPU that all ranks share.
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

// The result of a rank's loading.
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

}  // namespace realizar
