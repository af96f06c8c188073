#include "engine/model_drafter.h"

#include <algorithm>

#include "backend/backend.h"
#include "base/try.h"
#include "engine/idle_steps.h"
#include "model/forward.h"

namespace realizar::engine {

namespace {

kv::PoolRoom room_for(const DrafterOptions& options) {
  return {.n_blocks = (options.kv_tokens + options.block_tokens - 1) / options.block_tokens,
          .max_seqs = options.max_seqs,
          .max_positions = options.n_ctx,
          .max_rows = options.max_rows + kMaxDraft,
          .block_tokens = options.block_tokens};
}

}  // namespace

BackendLimits ModelDrafter::limits_for(const DrafterOptions& options) {
  BackendLimits limits;
  limits.max_rows = options.max_rows;
  limits.max_logit_rows = options.max_seqs;
  limits.max_seqs = options.max_seqs;
  limits.max_context = options.n_ctx;
  return limits;
}

Result<std::unique_ptr<ModelDrafter>> ModelDrafter::create(const Model& model, Backend& backend,
                                                           const DrafterOptions& options) {
  const ModelConfig& c = model.config();
  CacheLayout layout;
  layout.layers = state_layouts(c, options.n_ctx);
  layout.block_tokens = options.block_tokens;
  layout.n_blocks = kv::n_pool_blocks(group_layers(layout.layers).windows, room_for(options));
  layout.type = options.kv_type;
  layout.n_states = kv::kMaxStatesHeld * options.max_seqs;
  RZ_CHECK_OK(backend.create_kv_cache(layout));
  std::unique_ptr<ModelDrafter> drafter(new ModelDrafter(model, backend, options));
  const Forward forward = build_forward(c, model.weights());
  RZ_TRY(drafter->forward_, backend.compile(forward.program));
  drafter->logits_ = forward.logits;
  return drafter;
}

ModelDrafter::ModelDrafter(const Model& model, Backend& backend, const DrafterOptions& options)
    : backend_(backend),
      options_(options),
      n_vocab_(model.config().n_vocab),
      groups_(group_layers(state_layouts(model.config(), options.n_ctx))),
      pool_(kv::n_pool_blocks(groups_.windows, room_for(options)), options.block_tokens, {}, nullptr, 0,
            groups_.windows),
      states_(backend.state_bytes() > 0 ? std::make_unique<kv::BlockPool>(kv::kMaxStatesHeld * options.max_seqs,
                                                                          options.block_tokens, kv::HashKey{})
                                        : nullptr),
      sampler_(n_vocab_, options.n_ctx),
      batch_builder_(options.max_rows, options.max_seqs),
      slots_(options.max_seqs) {
  round_.reserve(options.max_seqs);
  for (Slot& slot : slots_) {
    slot.own.tokens.reserve(options.n_ctx + 1);
    slot.own.cache = kv::SequenceCache({pool_, states_.get()}, 0, 0, options.n_ctx, kMaxDraft);
  }
}

// Tokens are drawn from the logits here, since each sequence has its own sampling.
Status ModelDrafter::warm_up() {
  const uint32_t n_positions = std::clamp(pool_.n_blocks() * options_.block_tokens, 1u, std::max(1u, options_.n_ctx));
  return run_idle_steps(backend_, forward_,
                        {limits_for(options_), n_positions, options_.block_tokens, pool_.n_blocks(), false});
}

bool ModelDrafter::wipe_some(uint32_t max_blocks) {
  const auto wipe_state = [this](BlockId slot) { backend_.zero_state(StateId{to_index(slot)}); };
  const bool are_states_done = states_ == nullptr || states_->wipe_nameless(max_blocks, wipe_state, {});
  return pool_.wipe_nameless(max_blocks, [this](BlockId id) { backend_.zero_block(id); }, {}) && are_states_done;
}

ModelDrafter::Slot* ModelDrafter::slot_of(SeqId id) {
  const auto with = [&](SeqId wanted) {
    const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.id == wanted; });
    return found == slots_.end() ? nullptr : &*found;
  };
  Slot* slot = with(id);
  if (slot != nullptr) return slot;
  slot = with(SeqId{0});
  if (slot != nullptr) slot->id = id;
  return slot;
}

void ModelDrafter::release(Slot& slot) {
  slot.own.cache.release();
  slot.own.tokens.clear();
  slot.id = SeqId{0};
}

void ModelDrafter::forget(SeqId id) {
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.id == id; });
  if (found != slots_.end()) release(*found);
}

// Makes the slot's tokens equal the sequence's, keeping the computed part of their common beginning. True if one step
// of n_left rows computes the rest, which is then subtracted.
bool ModelDrafter::catch_up(Slot& slot, const Sequence& sequence, uint32_t& n_left) {
  Sequence& own = slot.own;
  const auto differs =
      std::mismatch(own.tokens.begin(), own.tokens.end(), sequence.tokens.begin(), sequence.tokens.end()).first;
  const auto n_common = static_cast<uint32_t>(differs - own.tokens.begin());
  // At least the last token is recomputed: its logits give the first speculative token.
  own.cache.rollback(std::min({own.n_computed(), n_common, sequence.n_known() - 1}));
  own.tokens.assign(sequence.tokens.begin(), sequence.tokens.end());
  const uint32_t n_rows = std::min(sequence.n_known() - own.n_computed(), n_left);
  if (n_rows == 0 || !own.cache.reserve(own.n_computed() + n_rows)) return false;
  const bool is_all = own.n_computed() + n_rows == sequence.n_known();
  round_.push_back({&slot, 0, {0, n_rows, n_rows == 1 ? ChunkKind::kDecode : ChunkKind::kPrompt, is_all ? 1u : 0u}});
  n_left -= n_rows;
  return is_all;
}

Status ModelDrafter::draft(std::span<const SequencePtr> running, std::span<const uint32_t> max_drafts) {
  round_.clear();
  rounds_ = {};
  uint32_t n_left = options_.max_catch_up;
  for (uint32_t i = 0; i < running.size(); ++i) {
    running[i]->drafts.clear();
    if (max_drafts[i] == 0) continue;
    // Every sequence may read its newest token, in addition to the rows for catching up.
    uint32_t n_rows = std::min(n_left + 1, options_.max_rows - static_cast<uint32_t>(round_.size()));
    const uint32_t n_before = n_rows;
    const size_t n_entries = round_.size();
    Slot* slot = slot_of(running[i]->id);
    if (slot == nullptr) continue;
    catch_up(*slot, *running[i], n_rows);
    if (round_.size() > n_entries) round_.back().running_idx = i;
    n_left -= std::min(n_left, n_before - n_rows > 0 ? n_before - n_rows - 1 : 0);
  }
  while (!round_.empty()) {
    RZ_CHECK_OK(run_round(running));
    // Sequences that have their token and want another continue with it.
    std::erase_if(round_, [&](Entry& entry) {
      const Sequence& sequence = *running[entry.running_idx];
      Sequence& own = entry.slot->own;
      const bool goes_on = entry.chunk.n_logit_rows == 1 && sequence.drafts.size() < max_drafts[entry.running_idx] &&
                           own.cache.reserve(own.n_known());
      entry.chunk = {0, 1, ChunkKind::kDecode, 1};
      return !goes_on;
    });
  }
  return {};
}

// Computes the round's rows; each sequence with logits gets a speculative token, drawn by the sequence's own sampling.
Status ModelDrafter::run_round(std::span<const SequencePtr> running) {
  const auto start = Sequence::Clock::now();
  // Decode rows come first in a batch; a partition that kept the order would allocate.
  std::partition(round_.begin(), round_.end(), [](const Entry& entry) { return !entry.chunk.is_prompt(); });
  batch_builder_.begin();
  for (const Entry& entry : round_) batch_builder_.append(entry.slot->own, entry.chunk);
  backend_.run(forward_, batch_builder_.finish());
  RZ_CHECK_OK(backend_.wait());
  size_t logit_row = 0;
  for (const Entry& entry : round_) {
    Sequence& own = entry.slot->own;
    own.cache.commit(own.tokens, entry.chunk.n_tokens, false);
    // The tokens after this are speculative and may be rolled back.
    if (own.n_computed() == running[entry.running_idx]->n_known()) own.cache.mark();
    if (entry.chunk.n_logit_rows == 0) continue;
    const auto logits = backend_.read(logits_).subspan(n_vocab_ * logit_row++, n_vocab_);
    Sequence& sequence = *running[entry.running_idx];
    if (sequence.drafts.empty()) own.sampler = sequence.sampler;
    TokenId id = sampler_.sample(sequence.request->sampling, logits, own.tokens, {}, &own.sampler);
    if (id == kNoToken) id = TokenId{0};  // a wrong token costs only time
    sequence.drafts.push_back(id);
    own.tokens.push_back(id);
  }
  // If all speculative tokens of a step were right, two tokens are new: the last of them, and the one after it.
  if (std::ranges::any_of(round_, [](const Entry& entry) { return entry.chunk.n_tokens > 2; })) return {};
  ++rounds_.n;
  rounds_.ms += elapsed_ms(start, Sequence::Clock::now());
  return {};
}

}  // namespace realizar::engine
