#include "engine/engine.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "base/caught.h"
#include "base/check.h"
#include "base/try.h"
#include "engine/idle_steps.h"
#include "engine/prefix_file.h"
#include "model/adapter_program.h"
#include "model/fingerprint.h"
#include "sampling/dry.h"

namespace realizar::engine {
namespace {

// Logit rows a step in addition to those of decoding sequences, for texts that are scored or pooled as a whole.
constexpr uint32_t kScoredRows = 64;

// Positions are 32-bit signed, and one more token than positions is kept.
constexpr uint32_t kMaxContext = 1u << 30;

// One sequence of the whole context always fits, so that something can always run.
uint32_t n_blocks_for(std::span<const uint32_t> windows, const EngineOptions& options) {
  const auto blocks_of = [&](uint64_t n_tokens) {
    return (n_tokens + options.block_tokens - 1) / options.block_tokens;
  };
  const uint64_t of_a_sequence = blocks_of(options.n_ctx);
  const uint64_t wanted = options.kv_tokens > 0 ? blocks_of(options.kv_tokens) : of_a_sequence * options.max_seqs;
  return kv::n_pool_blocks(windows, {.n_blocks = static_cast<uint32_t>(std::max(wanted, of_a_sequence)),
                                     .max_seqs = options.max_seqs,
                                     .max_positions = options.n_ctx,
                                     .max_rows = Engine::limits_for(options).max_rows + options.max_drafts(),
                                     .block_tokens = options.block_tokens});
}

// Every running sequence has its slots whatever else is kept: without an own number as many as kKeptStatesBytes hold.
uint32_t n_states_for(const EngineOptions& options, size_t state_bytes) {
  constexpr uint64_t kKeptStatesBytes = uint64_t{1} << 30;
  const uint64_t n_holding = kKeptStatesBytes / std::max<size_t>(1, state_bytes);
  const uint64_t n_usual = std::clamp<uint64_t>(n_holding, 2, uint64_t{options.max_seqs} + 2);
  const uint64_t n_kept = options.n_kept_states > 0 ? options.n_kept_states : n_usual;
  return static_cast<uint32_t>(
      std::min<uint64_t>(n_kept + uint64_t{kv::kMaxStatesHeld} * options.max_seqs, UINT32_MAX / 2));
}

std::unique_ptr<kv::BlockPool> make_states(const kv::BlockPool& blocks, uint32_t n_states, const Backend& backend) {
  if (backend.state_bytes() == 0) return nullptr;
  return std::make_unique<kv::BlockPool>(n_states, blocks.block_tokens(), blocks.key());
}

// Places in the store for cached prefixes; the backend's cache must have been made.
uint32_t n_places_for(const EngineOptions& options, const Backend& backend) {
  if (options.host_kv_bytes == 0) return 0;
  return static_cast<uint32_t>(
      std::min<uint64_t>(options.host_kv_bytes / std::max<size_t>(1, backend.block_bytes()), uint64_t{1} << 20));
}

}  // namespace

BackendLimits Engine::limits_for(const EngineOptions& options) {
  BackendLimits limits;
  const uint64_t most_rows = uint64_t{options.n_ctx} * options.max_seqs;
  const uint32_t wanted_rows = std::max(options.max_batch_tokens, options.whole_prompts ? options.n_ctx : 0);
  limits.max_rows = static_cast<uint32_t>(std::min<uint64_t>(wanted_rows, most_rows));
  const uint32_t decode_rows = options.max_seqs * (1 + options.n_draft);
  limits.max_logit_rows = std::min(std::max(kScoredRows, decode_rows + 1), limits.max_rows);
  if (options.whole_prompts) limits.max_logit_rows = limits.max_rows;
  limits.max_seqs = options.max_seqs;
  limits.max_context = options.n_ctx;
  return limits;
}

CacheLayout Engine::cache_layout_for(const ModelConfig& config, const EngineOptions& options) {
  CacheLayout layout;
  layout.layers = state_layouts(config, options.n_ctx);
  layout.block_tokens = options.block_tokens;
  layout.n_blocks = n_blocks_for(group_layers(layout.layers).windows, options);
  layout.type = options.kv_type;
  layout.n_states = n_states_for(options, state_bytes(layout.layers));
  return layout;
}

uint64_t Engine::list_bytes_for(const ModelConfig& config, const EngineOptions& options) {
  const CacheLayout layout = cache_layout_for(config, options);
  const uint64_t of_tables = uint64_t{options.max_seqs} * (options.n_ctx / options.block_tokens + 1) * sizeof(BlockId);
  return kv::BlockPool::list_bytes(layout.n_blocks, options.block_tokens) + of_tables;
}

Result<std::unique_ptr<Engine>> Engine::create(const Model& model, Backend& backend, std::vector<TokenId> end_tokens,
                                               const EngineOptions& options) {
  const ModelConfig& c = model.config();
  if (options.n_ctx < 1 || options.n_ctx > kMaxContext) {
    return invalid_argument(fmt::format("ctx: expected 1 to {}, actual {}", kMaxContext, options.n_ctx), "ctx");
  }
  if (c.learned_positions && options.n_ctx > c.n_ctx_train) {
    return invalid_argument(
        fmt::format("ctx: expected at most {}, for which the model has learned positions, actual {}", c.n_ctx_train,
                    options.n_ctx),
        "ctx");
  }
  REQUIRE(options.max_seqs >= 1);
  if (options.max_batch_tokens < options.max_seqs) {
    return invalid_argument(fmt::format("max_batch_tokens: expected at least {}, one for each of max_seqs, actual {}",
                                        options.max_seqs, options.max_batch_tokens),
                            "max_batch_tokens");
  }
  if (options.n_draft > kMaxDraft) {
    return invalid_argument(fmt::format("n_draft: expected at most {}, actual {}", kMaxDraft, options.n_draft),
                            "n_draft");
  }
  REQUIRE(options.whole_prompts == c.sees_later);
  RZ_CHECK_OK(backend.create_kv_cache(cache_layout_for(c, options)));
  const Forward forward = build_forward(c, model.weights());
  RZ_TRY(const ProgramId plain, backend.compile(forward.program));
  ForwardPrograms programs{plain, plain};
  if (model.adapter_targets().n_parts() > 0) {
    RZ_TRY(programs.adapted, backend.compile(with_adapters(forward.program, model.adapter_targets())));
  }
  return std::unique_ptr<Engine>(new Engine(model, backend, programs,
                                            {forward.hidden, forward.logits, n_outputs(c), c.sees_later},
                                            std::move(end_tokens), options));
}

Engine::Engine(const Model& model, Backend& backend, const ForwardPrograms& forward, const ForwardOutputs& outputs,
               std::vector<TokenId> end_tokens, const EngineOptions& options)
    : config_(model.config()),
      backend_(backend),
      forward_(forward.plain),
      options_(options),
      model_(model),
      adapters_(model.adapter_targets(), backend),
      host_blocks_(backend, n_places_for(options, backend), counters_),
      groups_(group_layers(state_layouts(model.config(), options.n_ctx))),
      pool_(n_blocks_for(groups_.windows, options), options.block_tokens, kv::random_hash_key(), &host_blocks_,
            n_places_for(options, backend), groups_.windows),
      states_(make_states(pool_, cache_layout_for(config_, options).n_states, backend)),
      idle_prefill_({pool_, states_.get()}, limits_for(options).max_rows,
                    options.idle_prefill && !backend.info().phases_agree && !options.whole_prompts, counters_),
      admission_(pool_, idle_prefill_, options, backend.info().phases_agree, counters_),
      step_(backend, forward, limits_for(options), outputs.n_vocab, options, counters_),
      results_(backend, outputs, std::move(end_tokens), options.n_ctx, masks_, counters_) {
  counters_.n_blocks = pool_.n_blocks();
  publish_counters();
}

void Engine::set_drafter(ModelDrafter* drafter) {
  drafter_ = drafter;
  admission_.set_drafter(drafter);
  step_.set_drafter(drafter);
}

Status Engine::warm_up() {
  REQUIRE(is_idle());
  forget_prefixes();
  if (options_.whole_prompts) return {};  // no decode rows
  RZ_CHECK_OK(run_idle_steps(backend_, forward_,
                             {limits_for(options_), options_.n_ctx, options_.block_tokens, pool_.n_blocks(), true}));
  return drafter_ != nullptr ? drafter_->warm_up() : Status{};
}

SequenceLimits Engine::limits_of_sequences() const {
  return {.n_ctx = options_.n_ctx,
          .n_vocab = config_.n_vocab,
          .d_model = config_.d_model,
          .max_drafts = options_.max_drafts(),
          .n_types = std::max(config_.n_types, 1u),
          .n_labels = config_.n_labels,
          .sees_later = config_.sees_later};
}

Result<SequencePtr> Engine::prepare(const Request& request, RequestSink& sink) {
  RZ_TRY(AdapterHold adapter, adapters_.hold(request));
  const uint64_t salt = adapter ? adapted_salt(request, adapter) : request.cache_salt;
  RZ_TRY(SequencePtr sequence, make_sequence(request, sink, limits_of_sequences(), {pool_, states_.get()}, salt));
  sequence->adapter = std::move(adapter);
  const bool wants_breakers = uses_dry(request.sampling) && request.sampling.dry_breakers == nullptr;
  if (wants_breakers && options_.make_breakers) sequence->sampler.breakers = options_.make_breakers();
  return sequence;
}

// What is cached of one adapter, with one factor, is no other's.
uint64_t Engine::adapted_salt(const Request& request, const AdapterHold& adapter) const {
  return pool_.salt_of(
      fmt::format("adapter {} {} {}", request.cache_salt, adapter.fingerprint(), adapter.in_batch().factor));
}

Result<std::unique_ptr<AdapterLoad>> Engine::read_adapter(const AdapterSource& source) {
  if (adapters_.n_places() == 0) return adapters_.begin_load(source, nullptr);
  RZ_TRY(Adapter adapter, realizar::read_adapter(source.path, model_));
  return adapters_.begin_load(source, std::make_unique<const Adapter>(std::move(adapter)));
}

Status Engine::load_adapter(const AdapterSource& source) {
  RZ_TRY(const auto load, read_adapter(source));
  while (true) {
    RZ_TRY(const bool is_done, adapters_.write_some(*load));
    if (is_done) return {};
  }
}

void Engine::submit(SequencePtr sequence) {
  idle_prefill_.pause();
  admission_.submit(std::move(sequence));
  publish_counters();
}

Status Engine::step() {
  const Status status = caught([&] { return try_step(); });
  if (!status.ok()) fail_step(status.error());
  publish_counters();
  return status;
}

Status Engine::try_step() {
  const auto start = Sequence::Clock::now();
  if (cancelled_.load(std::memory_order_relaxed)) cancel_all();
  admission_.update(start);
  if (masks_.prepare(admission_.running())) admission_.remove_ended();
  if (admission_.running().empty()) return {};
  RZ_CHECK_OK(step_.draft(admission_.running()));
  while (!step_.plan(admission_.running(), admission_.n_waiting())) admission_.preempt();
  if (step_.chunks().empty()) return {};  // all wait for their masks
  RZ_CHECK_OK(step_.run(admission_.running()));
  admission_.charge(step_.chunks());
  results_.take(admission_.running(), step_.chunks());
  step_.tell_operations(admission_.running());
  step_.observe(admission_.running(), elapsed_ms(start, Sequence::Clock::now()));
  admission_.remove_ended();
  return {};
}

Status Engine::idle_step() {
  REQUIRE(is_idle());
  const Status status = caught([&] { return try_idle_step(); });
  if (!status.ok()) fail_step(status.error());
  publish_counters();
  return status;
}

Status Engine::try_idle_step() {
  const auto start = Sequence::Clock::now();
  const auto chunk = idle_prefill_.plan();
  if (!chunk) return {};
  RZ_CHECK_OK(step_.run_alone(idle_prefill_.sequence(), *chunk));
  step_.tell_operations(idle_prefill_.sequence());
  idle_prefill_.take(*chunk, elapsed_ms(start, Sequence::Clock::now()));
  return {};
}

void Engine::forget_prefixes(std::optional<uint64_t> tenant) {
  idle_prefill_.forget(tenant);
  pool_.forget_names(tenant);
  if (states_ != nullptr) states_->forget_names(tenant);
  publish_counters();
}

void Engine::cancel_all() {
  idle_prefill_.pause();
  end_all(FinishReason::kCancelled, nullptr);
}

void Engine::end_all(FinishReason reason, const Error* error) {
  admission_.end_running(reason, error);
  admission_.end_waiting(reason, error);
  publish_counters();
}

// What waits may fare better, unless the device is gone. What the cache holds is not known any more.
void Engine::fail_step(const Error& error) {
  counters_.is_device_lost = backend_.is_lost();
  admission_.end_running(FinishReason::kError, &error);
  if (backend_.is_lost()) admission_.end_waiting(FinishReason::kError, &error);
  forget_prefixes();
}

// Everything that the bytes of a block depend on.
uint64_t Engine::fingerprint(uint64_t source) const {
  const std::string text = fmt::format("{} {} {} {}", source, hash_of(config_), backend_.info().arithmetic,
                                       static_cast<int>(options_.kv_type));
  return XXH3_64bits(text.data(), text.size());
}

Result<uint32_t> Engine::save_cache(const std::string& path, uint64_t source, uint64_t max_bytes) const {
  return save_prefixes(path, pool_, states_.get(), backend_, prefix_shape(source), max_bytes);
}

uint32_t Engine::load_cache(const std::string& path, uint64_t source) {
  const uint32_t n_loaded = load_prefixes(path, {pool_, states_.get()}, backend_, prefix_shape(source));
  publish_counters();
  return n_loaded;
}

HeldPrefix Engine::hold_prefix(std::span<const TokenId> tokens, uint64_t cache_salt) {
  return {{pool_, states_.get()}, tokens, cache_salt};
}

void Engine::read_piece(const HeldPrefix& prefix, uint64_t piece, std::span<std::byte> bytes) const {
  prefix.read(piece, backend_, bytes);
}

std::unique_ptr<NewPrefix> Engine::begin_prefix(std::vector<TokenId> tokens) {
  return std::make_unique<NewPrefix>(kv::CachePools(pool_, states_.get()), std::move(tokens));
}

bool Engine::add_block(NewPrefix& prefix, uint32_t group, uint32_t n_short_tokens, std::span<const std::byte> bytes) {
  return prefix.add_block(backend_, group, n_short_tokens, bytes);
}

uint32_t Engine::forget_prefix(std::span<const TokenId> tokens, uint64_t cache_salt) {
  const uint32_t n_forgotten = engine::forget_prefix({pool_, states_.get()}, tokens, cache_salt);
  publish_counters();
  return n_forgotten;
}

void Engine::name_prefix(NewPrefix& added, uint64_t cache_salt, uint64_t owner) {
  added.name(cache_salt, owner);
  publish_counters();
}

PrefixShape Engine::prefix_shape(uint64_t source) const {
  return {.fingerprint = fingerprint(source),
          .block_tokens = pool_.block_tokens(),
          .n_groups = pool_.n_groups(),
          .max_tokens = options_.n_ctx,
          .block_bytes = backend_.block_bytes(),
          .state_bytes = states_ != nullptr ? backend_.state_bytes() : 0};
}

// Works in slices, so that no step waits long for one.
bool Engine::wipe_some() {
  constexpr size_t kSliceBytes = size_t{64} << 20;
  const auto max_blocks = static_cast<uint32_t>(kSliceBytes / std::max<size_t>(1, backend_.block_bytes()) + 1);
  const bool is_done = pool_.wipe_nameless(
      max_blocks, [this](BlockId id) { backend_.zero_block(id); },
      [this](uint32_t place) { host_blocks_.wipe(place); });
  const auto wipe_state = [this](BlockId slot) { backend_.zero_state(StateId{to_index(slot)}); };
  const bool are_states_done = states_ == nullptr || states_->wipe_nameless(max_blocks, wipe_state, {});
  return is_done && are_states_done && (drafter_ == nullptr || drafter_->wipe_some(max_blocks));
}

void Engine::publish_counters() {
  counters_.n_waiting.store(static_cast<uint32_t>(admission_.n_waiting()), std::memory_order_relaxed);
  counters_.n_held_blocks.store(pool_.n_blocks() - pool_.n_free(), std::memory_order_relaxed);
  const kv::BlockPool::NameCounts& names = pool_.name_counts();
  counters_.n_inserted_blocks.store(names.n_inserted, std::memory_order_relaxed);
  counters_.n_evicted_blocks.store(names.n_evicted, std::memory_order_relaxed);
  counters_.n_saved_blocks.store(names.n_saved, std::memory_order_relaxed);
  counters_.n_dropped_blocks.store(names.n_dropped, std::memory_order_relaxed);
  counters_.n_named_blocks.store(names.n_named, std::memory_order_relaxed);
  counters_.n_stored_blocks.store(names.n_stored, std::memory_order_relaxed);
  // The last one: who sees that nothing runs sees what has come of it.
  counters_.n_running.store(static_cast<uint32_t>(admission_.running().size()), std::memory_order_release);
}

}  // namespace realizar::engine
