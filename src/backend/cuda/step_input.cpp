#include "backend/cuda/step_input.h"

#include <algorithm>

#include "base/check.h"

namespace realizar::cuda {

Status StepInput::create(Device& device, const BackendLimits& limits, uint32_t max_blocks) {
  max_blocks_ = std::max(1u, max_blocks);
  Places& p = places_;
  p.counts = 0;
  p.tokens = 4;
  p.positions = p.tokens + limits.max_rows;
  p.seq_of_row = p.positions + limits.max_rows;
  p.logit_rows = p.seq_of_row + limits.max_rows;
  p.block_tables = p.logit_rows + limits.max_logit_rows;
  p.end = p.block_tables + size_t{std::max(1u, limits.max_seqs)} * max_blocks_;
  RZ_TRY(void* host, device.allocate_pinned(p.end * sizeof(int32_t)));
  RZ_TRY(void* words, device.allocate(p.end * sizeof(int32_t)));
  host_ = static_cast<int32_t*>(host);
  device_words_ = static_cast<int32_t*>(words);
  const auto unsigned_at = [&](size_t place) { return reinterpret_cast<const uint32_t*>(device_words_ + place); };
  view_ = {unsigned_at(p.counts),          unsigned_at(p.counts + 1),
           unsigned_at(p.counts + 2),      unsigned_at(p.counts + 3),
           device_words_ + p.tokens,       device_words_ + p.positions,
           unsigned_at(p.seq_of_row),      unsigned_at(p.logit_rows),
           device_words_ + p.block_tables, max_blocks_};
  return {};
}

void StepInput::upload(Device& device, const StepBatch& batch) {
  const Places& p = places_;
  host_[p.counts] = 0;
  host_[p.counts + 1] = static_cast<int32_t>(batch.n_rows());
  host_[p.counts + 2] = static_cast<int32_t>(batch.n_decode_rows);
  host_[p.counts + 3] = static_cast<int32_t>(batch.logit_rows.size());
  const auto bits = [](auto x) { return static_cast<int32_t>(x); };
  std::ranges::transform(batch.tokens, host_ + p.tokens, [](TokenId id) { return to_index(id); });
  std::ranges::copy(batch.positions, host_ + p.positions);
  std::ranges::transform(batch.logit_rows, host_ + p.logit_rows, bits);
  std::fill_n(host_ + p.seq_of_row, batch.n_rows(), 0);
  for (size_t s = 0; s < batch.seqs.size(); ++s) {
    const BatchSequence& seq = batch.seqs[s];
    REQUIRE(seq.block_table.size() <= max_blocks_);
    std::fill_n(host_ + p.seq_of_row + seq.first_row, seq.n_rows, bits(s));
    std::ranges::transform(seq.block_table, host_ + p.block_tables + s * max_blocks_,
                           [](BlockId id) { return static_cast<int32_t>(to_index(id)); });
  }
  const size_t n_words = batch.seqs.empty() ? p.block_tables : p.block_tables + batch.seqs.size() * max_blocks_;
  device.upload(device_words_, host_, n_words * sizeof(int32_t));
}

}  // namespace realizar::cuda
