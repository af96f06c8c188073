#include "engine/cache_sizes.h"

#include <algorithm>

#include "kv/block_pool.h"
#include "kv/sequence_cache.h"
#include "model/model_config.h"

namespace realizar::engine {
namespace {

// Rows of logits in a step in addition to those of decoding sequences, for texts that are scored or pooled as a whole.
constexpr uint32_t kScoredRows = 64;

// Every running sequence has its slots, whatever else is kept: without a configured number, as many as fit in
// kKeptStatesBytes.
uint32_t n_states_for(const EngineOptions& options, size_t state_bytes) {
  constexpr uint64_t kKeptStatesBytes = uint64_t{1} << 30;
  const uint64_t n_holding = kKeptStatesBytes / std::max<size_t>(1, state_bytes);
  const uint64_t n_usual = std::clamp<uint64_t>(n_holding, 2, uint64_t{options.max_seqs} + 2);
  const uint64_t n_kept = options.n_kept_states > 0 ? options.n_kept_states : n_usual;
  return static_cast<uint32_t>(
      std::min<uint64_t>(n_kept + uint64_t{kv::kMaxStatesHeld} * options.max_seqs, UINT32_MAX / 2));
}

}  // namespace

// One sequence of the whole context always fits, so that at least one can always run.
uint32_t n_blocks_for(std::span<const uint32_t> windows, const EngineOptions& options) {
  const auto blocks_of = [&](uint64_t n_tokens) {
    return (n_tokens + options.block_tokens - 1) / options.block_tokens;
  };
  const uint64_t of_a_sequence = blocks_of(options.n_ctx);
  const uint64_t wanted = options.kv_tokens > 0 ? blocks_of(options.kv_tokens) : of_a_sequence * options.max_seqs;
  return kv::n_pool_blocks(windows, {.n_blocks = static_cast<uint32_t>(std::max(wanted, of_a_sequence)),
                                     .max_seqs = options.max_seqs,
                                     .max_positions = options.n_ctx,
                                     .max_rows = limits_for(options).max_rows + options.max_drafts(),
                                     .block_tokens = options.block_tokens});
}

BackendLimits limits_for(const EngineOptions& options) {
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

CacheLayout cache_layout_for(const ModelConfig& config, const EngineOptions& options) {
  CacheLayout layout;
  layout.layers = state_layouts(config, options.n_ctx);
  layout.block_tokens = options.block_tokens;
  layout.n_blocks = n_blocks_for(group_layers(layout.layers).windows, options);
  layout.type = options.kv_type;
  layout.n_states = n_states_for(options, state_bytes(layout.layers));
  return layout;
}

uint64_t list_bytes_for(const ModelConfig& config, const EngineOptions& options) {
  const CacheLayout layout = cache_layout_for(config, options);
  const uint64_t of_tables = uint64_t{options.max_seqs} * (options.n_ctx / options.block_tokens + 1) * sizeof(BlockId);
  return kv::BlockPool::list_bytes(layout.n_blocks, options.block_tokens) + of_tables;
}

}  // namespace realizar::engine
