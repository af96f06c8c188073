#include "engine/prefixes.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "backend/backend.h"
#include "base/caught.h"
#include "base/check.h"
#include "engine/block_events.h"
#include "engine/cache_sizes.h"
#include "engine/prefix_file.h"
#include "model/fingerprint.h"
#include "model/model_config.h"

namespace realizar::engine {

// Blocks of the KV cache that do not fit on the device, in host memory.
class HostBlocks final : public kv::BlockStore {
 public:
  // Allocates memory when a slot is first filled, never more than n_slots blocks.
  HostBlocks(Backend& backend, uint32_t n_slots, EngineCounters& counters)
      : backend_(backend), slots_(n_slots), counters_(counters) {}

  bool save(BlockId id, uint32_t slot) override {
    std::span<std::byte>& bytes = slots_[slot];
    // Without memory for it a block only loses its name.
    const bool has_slot = caught([&] {
                            if (bytes.empty()) bytes = backend_.allocate_host(backend_.block_bytes());
                          }).ok() &&
                          !bytes.empty();
    if (!has_slot) return false;
    backend_.save_block(id, bytes);
    return true;
  }
  void restore(uint32_t slot, BlockId id) override {
    backend_.restore_block(id, slots_[slot]);
    counters_.n_restored_blocks.fetch_add(1, std::memory_order_relaxed);
  }
  void copy(BlockId from, BlockId to) override { backend_.copy_block(from, to); }
  // Call after pending copies into it are done.
  void wipe(uint32_t slot) { std::ranges::fill(slots_[slot], std::byte{0}); }

 private:
  Backend& backend_;
  std::vector<std::span<std::byte>> slots_;
  EngineCounters& counters_;
};

namespace {

// Slots in host memory for cached prefixes.
uint32_t n_slots_for(const EngineOptions& options, const Backend& backend) {
  if (options.host_kv_bytes == 0) return 0;
  return static_cast<uint32_t>(
      std::min<uint64_t>(options.host_kv_bytes / std::max<size_t>(1, backend.block_bytes()), uint64_t{1} << 20));
}

std::unique_ptr<kv::BlockPool> make_states(const kv::BlockPool& blocks, uint32_t n_states, const Backend& backend) {
  if (backend.state_bytes() == 0) return nullptr;
  return std::make_unique<kv::BlockPool>(n_states, blocks.block_tokens(), blocks.key());
}

}  // namespace

Prefixes::Prefixes(const ModelConfig& config, Backend& backend, const EngineOptions& options, EngineCounters& counters)
    : config_(config),
      backend_(backend),
      kv_type_(options.kv_type),
      n_ctx_(options.n_ctx),
      counters_(counters),
      host_blocks_(std::make_unique<HostBlocks>(backend, n_slots_for(options, backend), counters)),
      groups_(group_layers(state_layouts(config, options.n_ctx))),
      blocks_(n_blocks_for(groups_.windows, options), options.block_tokens, kv::random_hash_key(), host_blocks_.get(),
              n_slots_for(options, backend), groups_.windows),
      states_(make_states(blocks_, cache_layout_for(config, options).n_states, backend)) {
  counters_.n_blocks = blocks_.n_blocks();
  counters_.n_block_tokens = blocks_.block_tokens();
}

Prefixes::~Prefixes() {
  if (events_ != nullptr) events_->end();
}

std::shared_ptr<BlockEvents> Prefixes::watch_blocks() {
  REQUIRE(events_ == nullptr);
  events_ = std::make_shared<BlockEvents>(pools());
  events_->begin();
  return events_;
}

void Prefixes::forget(std::optional<uint64_t> tenant) {
  blocks_.forget_names(tenant);
  if (states_ != nullptr) states_->forget_names(tenant);
}

bool Prefixes::wipe_some(uint32_t max_blocks) {
  const bool is_done = blocks_.wipe_nameless(
      max_blocks, [this](BlockId id) { backend_.zero_block(id); }, [this](uint32_t slot) { host_blocks_->wipe(slot); });
  const auto wipe_state = [this](BlockId slot) { backend_.zero_state(StateId{to_index(slot)}); };
  const bool are_states_done = states_ == nullptr || states_->wipe_nameless(max_blocks, wipe_state, {});
  return is_done && are_states_done;
}

// Covers everything that the bytes of a block depend on.
uint64_t Prefixes::fingerprint(uint64_t source) const {
  const std::string text =
      fmt::format("{} {} {} {}", source, hash_of(config_), backend_.info().arithmetic, static_cast<int>(kv_type_));
  return XXH3_64bits(text.data(), text.size());
}

Result<uint32_t> Prefixes::save(const std::string& path, uint64_t source, uint64_t max_bytes) const {
  return save_prefixes(path, blocks_, states_.get(), backend_, shape(source), max_bytes);
}

uint32_t Prefixes::load(const std::string& path, uint64_t source) {
  const uint32_t n_loaded = load_prefixes(path, pools(), backend_, shape(source));
  publish_counters();
  return n_loaded;
}

HeldPrefix Prefixes::hold(std::span<const TokenId> tokens, uint64_t cache_salt) {
  return {pools(), backend_, tokens, cache_salt};
}

std::unique_ptr<NewPrefix> Prefixes::begin(std::vector<TokenId> tokens) {
  return std::make_unique<NewPrefix>(pools(), backend_, std::move(tokens));
}

void Prefixes::name(NewPrefix& added, uint64_t cache_salt, uint64_t owner) {
  added.name(cache_salt, owner);
  publish_counters();
}

TextPieces Prefixes::pieces_of(std::vector<TokenId> tokens, uint64_t cache_salt, uint64_t owner) {
  return {pools(), backend_, std::move(tokens), cache_salt, owner};
}

uint32_t Prefixes::forget_one(std::span<const TokenId> tokens, uint64_t cache_salt) {
  const uint32_t n_forgotten = forget_prefix(pools(), tokens, cache_salt);
  publish_counters();
  return n_forgotten;
}

PrefixShape Prefixes::shape(uint64_t source) const {
  return {.fingerprint = fingerprint(source),
          .block_tokens = blocks_.block_tokens(),
          .n_groups = blocks_.n_groups(),
          .max_tokens = n_ctx_,
          .block_bytes = backend_.block_bytes(),
          .state_bytes = states_ != nullptr ? backend_.state_bytes() : 0};
}

void Prefixes::publish_counters() const {
  counters_.n_held_blocks.store(blocks_.n_blocks() - blocks_.n_free(), std::memory_order_relaxed);
  const kv::BlockPool::NameCounts& names = blocks_.name_counts();
  counters_.n_inserted_blocks.store(names.n_inserted, std::memory_order_relaxed);
  counters_.n_evicted_blocks.store(names.n_evicted, std::memory_order_relaxed);
  counters_.n_saved_blocks.store(names.n_saved, std::memory_order_relaxed);
  counters_.n_dropped_blocks.store(names.n_dropped, std::memory_order_relaxed);
  counters_.n_named_blocks.store(names.n_named, std::memory_order_relaxed);
  counters_.n_stored_blocks.store(names.n_stored, std::memory_order_relaxed);
}

}  // namespace realizar::engine
