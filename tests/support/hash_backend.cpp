#include "support/hash_backend.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "backend/program.h"

namespace realizar::testing {

Status HashBackend::configure(const BackendLimits& limits) {
  limits_ = limits;
  return {};
}

// The program determines which activations have logit rows; its computations are ignored.
Result<ProgramId> HashBackend::compile(const Program& program) {
  activations_.clear();
  for (const ActShape& act : program.activations) {
    const size_t n_rows = act.rows == Rows::kLogits ? limits_.max_logit_rows : 0;
    activations_.push_back({act.n_cols, std::vector<float>(n_rows * act.n_cols)});
  }
  return ProgramId{};
}

Status HashBackend::create_kv_cache(const CacheLayout& layout) {
  layout_ = layout;
  groups_ = group_layers(layout.layers);
  cells_.assign(size_t{layout.n_blocks} * layout.block_tokens, {});
  states_.assign(layout.n_states, 0);
  return {};
}

HashBackend::Cell& HashBackend::cell(const BatchSequence& seq, uint32_t group, uint32_t pos) {
  const BlockId block = seq.block_tables.of(group)[pos / layout_.block_tokens];
  return cells_[size_t{to_index(block)} * layout_.block_tokens + pos % layout_.block_tokens];
}

void HashBackend::read_block(BlockId id, std::span<std::byte> bytes) const {
  std::memcpy(bytes.data(), cells_.data() + size_t{to_index(id)} * layout_.block_tokens, block_bytes());
}

void HashBackend::write_block(BlockId id, std::span<const std::byte> bytes) {
  std::memcpy(cells_.data() + size_t{to_index(id)} * layout_.block_tokens, bytes.data(), block_bytes());
}

void HashBackend::copy_block(BlockId from, BlockId to) {
  std::copy_n(cells_.begin() + static_cast<std::ptrdiff_t>(size_t{to_index(from)} * layout_.block_tokens),
              layout_.block_tokens,
              cells_.begin() + static_cast<std::ptrdiff_t>(size_t{to_index(to)} * layout_.block_tokens));
}

void HashBackend::zero_block(BlockId id) {
  std::fill_n(cells_.begin() + static_cast<std::ptrdiff_t>(size_t{to_index(id)} * layout_.block_tokens),
              layout_.block_tokens, Cell{});
}

void HashBackend::read_state(StateId slot, std::span<std::byte> bytes) const {
  std::memcpy(bytes.data(), &states_[static_cast<uint32_t>(slot)], sizeof(uint64_t));
}

void HashBackend::write_state(StateId slot, std::span<const std::byte> bytes) {
  std::memcpy(&states_[static_cast<uint32_t>(slot)], bytes.data(), sizeof(uint64_t));
}

uint64_t HashBackend::fold(uint64_t hash, TokenId token, bool is_decode, const BatchAdapter& adapter) {
  hash ^= static_cast<uint64_t>(to_index(token)) * 2 + (is_decode ? 1 : 0);
  const bool has_adapter = adapter.slot != BatchAdapter::kNone;
  if (has_adapter)
    hash ^= uint64_t{adapter.slot + 1} << 56 ^ uint64_t { std::bit_cast<uint32_t>(adapter.factor) } << 24;
  hash *= 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

void HashBackend::fill_logits(uint64_t hash, std::span<float> row) {
  std::fill(row.begin(), row.end(), 0.0f);
  for (int i = 0; i < 4; ++i) {
    hash = fold(hash, TokenId{i}, false);
    row[hash % 8] = 1.0f + static_cast<float>(hash >> 40 & 0xff) / 64;
  }
}

uint64_t HashBackend::hash_of_seen(const BatchSequence& seq, uint32_t pos) {
  uint64_t hash = 1;
  for (uint32_t group = 0; group < groups_.windows.size(); ++group) {
    const uint32_t window = groups_.windows[group];
    for (uint32_t seen = window > 0 && pos >= window ? pos + 1 - window : 0; seen <= pos; ++seen) {
      const Cell& c = cell(seq, group, seen);
      hash = fold(hash, c.group == group ? c.token : kNoToken, c.is_decode != 0, c.adapter);
    }
  }
  return hash;
}

Status HashBackend::wait() {
  holds_.wait(true);
  if (!std::exchange(fails_, is_lost_)) return {};
  return Error{ErrorCode::kInternal, "the device failed", "hash"};
}

void HashBackend::advance_states() {
  row_states_.resize(batch_->n_rows());
  for (const BatchSequence& seq : batch_->seqs) {
    uint64_t state = seq.first_pos == 0 ? kFirstState : states_[static_cast<uint32_t>(seq.state_from)];
    for (uint32_t row = seq.first_row; row < seq.first_row + seq.n_rows; ++row) {
      row_states_[row] = state = fold(state, batch_->tokens[row], is_decode(row), seq.adapter);
    }
    states_[static_cast<uint32_t>(seq.state_to)] = state;
  }
}

void HashBackend::run(ProgramId, const StepBatch& batch) {
  batch_ = &batch;
  for (const BatchSequence& seq : batch_->seqs) {
    for (uint32_t i = 0; i < seq.n_rows; ++i) {
      const uint32_t row = seq.first_row + i, pos = static_cast<uint32_t>(seq.first_pos) + i;
      for (uint16_t group = 0; group < groups_.windows.size(); ++group) {
        cell(seq, group, pos) = {batch_->tokens[row], static_cast<uint16_t>(is_decode(row)), group, seq.adapter};
      }
    }
  }
  if (has_state_) advance_states();
  for (size_t r = 0; r < batch_->logit_rows.size(); ++r) {
    const uint32_t row = batch_->logit_rows[r];
    const auto seq = std::find_if(batch_->seqs.begin(), batch_->seqs.end(),
                                  [&](const BatchSequence& s) { return row - s.first_row < s.n_rows; });
    uint64_t hash = hash_of_seen(*seq, static_cast<uint32_t>(batch_->positions[row]));
    if (has_state_) hash = fold_state(hash, row_states_[row]);
    for (Activation& act : activations_) {
      if (act.values.empty()) continue;
      const auto values = std::span(act.values).subspan(r * act.n_cols, act.n_cols);
      fill_logits(hash, values);
      if (batch_->tokens[row] == spoiled_) values.back() = spoiled_value_;
    }
  }
}

std::span<const float> HashBackend::read(ActId act) const {
  const Activation& activation = activations_[static_cast<uint32_t>(act)];
  return std::span(activation.values).first(batch_->logit_rows.size() * activation.n_cols);
}

}  // namespace realizar::testing
