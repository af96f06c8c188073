#include "backend/cuda/step/step_input.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/try.h"

namespace realizar::cuda {
namespace {

constexpr size_t kTileWords = sizeof(PromptTile) / sizeof(int32_t), kSeqWords = sizeof(StepSequence) / sizeof(int32_t);
constexpr size_t kCounts = 5;

}  // namespace

size_t StepInput::max_tiles(const BackendLimits& limits) {
  return limits.max_rows / kPromptTileRows + std::max(1u, limits.max_seqs);
}

StepInput::Places StepInput::places_for(const BackendLimits& limits, uint32_t max_blocks, uint32_t n_groups) {
  Places p{};
  p.tokens = kCounts;
  p.positions = p.tokens + limits.max_rows;
  p.seq_of_row = p.positions + limits.max_rows;
  p.logit_rows = p.seq_of_row + limits.max_rows;
  p.tiles = p.logit_rows + limits.max_logit_rows;
  const size_t max_seqs = std::max(1u, limits.max_seqs);
  p.seqs = p.tiles + max_tiles(limits) * kTileWords;
  p.block_tables = p.seqs + max_seqs * kSeqWords;
  p.end = p.block_tables + max_seqs * n_groups * max_blocks;
  return p;
}

Status StepInput::create(Device& device, const BackendLimits& limits, uint32_t max_blocks, uint32_t n_groups) {
  max_blocks_ = 0;  // until the memory is allocated
  places_ = places_for(limits, max_blocks, n_groups);
  const Places& p = places_;
  tiles_.reserve(max_tiles(limits));
  release(device);
  RZ_TRY(void* host, device.allocate_pinned(p.end * sizeof(int32_t)));
  host_ = static_cast<int32_t*>(host);
  RZ_TRY(void* words, device.allocate(p.end * sizeof(int32_t)));
  device_words_ = static_cast<int32_t*>(words);
  max_blocks_ = max_blocks;
  n_groups_ = n_groups;
  const auto unsigned_at = [&](size_t place) { return reinterpret_cast<const uint32_t*>(device_words_ + place); };
  view_ = {.zero = unsigned_at(p.counts),
           .n_rows = unsigned_at(p.counts + 1),
           .n_decode_rows = unsigned_at(p.counts + 2),
           .n_logit_rows = unsigned_at(p.counts + 3),
           .tokens = device_words_ + p.tokens,
           .positions = device_words_ + p.positions,
           .seq_of_row = unsigned_at(p.seq_of_row),
           .logit_rows = unsigned_at(p.logit_rows),
           .block_tables = device_words_ + p.block_tables,
           .tiles = reinterpret_cast<const PromptTile*>(device_words_ + p.tiles),
           .n_seqs = unsigned_at(p.counts + 4),
           .seqs = reinterpret_cast<const StepSequence*>(device_words_ + p.seqs),
           .max_blocks = n_groups * max_blocks};
  return {};
}

void StepInput::release(Device& device) {
  if (device_words_ != nullptr) device.free(std::exchange(device_words_, nullptr));
  if (host_ != nullptr) device.free_pinned(std::exchange(host_, nullptr));
}

// In reverse order: the last have the longest contexts, so that the GPU finishes with the shortest.
void StepInput::write_tiles(const StepBatch& batch) {
  int32_t* to = host_ + places_.tiles;
  tiles_.clear();
  for (auto seq = batch.seqs.rbegin(); seq != batch.seqs.rend(); ++seq) {
    const uint32_t begin = std::max(seq->first_row, batch.n_decode_rows), end = seq->first_row + seq->n_rows;
    for (uint32_t left = end > begin ? end - begin : 0; left > 0;) {
      const uint32_t first = (left - 1) / kPromptTileRows * kPromptTileRows;
      const PromptTile tile{static_cast<uint32_t>(&*seq - batch.seqs.data()), begin + first, left - first};
      std::memcpy(to, &tile, sizeof tile);
      to += kTileWords;
      const auto pos = [&](uint32_t row) { return static_cast<uint32_t>(batch.positions[row]); };
      tiles_.push_back({begin + first, left - first, pos(begin + first), pos(end - 1)});
      left = first;
    }
  }
}

void StepInput::write_seqs(const StepBatch& batch) {
  int32_t* to = host_ + places_.seqs;
  for (const BatchSequence& seq : batch.seqs) {
    const StepSequence facts{seq.first_row, seq.n_rows,
                             seq.first_pos == Pos{0} ? kNoState : static_cast<uint32_t>(seq.state_from),
                             static_cast<uint32_t>(seq.state_to), seq.adapter};
    std::memcpy(to, &facts, sizeof facts);
    to += kSeqWords;
  }
}

void StepInput::upload(Device& device, const StepBatch& batch) {
  const Places& p = places_;
  const size_t n_table_words = batch.seqs.size() * n_groups_ * max_blocks_;
  REQUIRE(p.block_tables + n_table_words <= p.end);
  host_[p.counts] = 0;
  host_[p.counts + 1] = static_cast<int32_t>(batch.n_rows());
  host_[p.counts + 2] = static_cast<int32_t>(batch.n_decode_rows);
  host_[p.counts + 3] = static_cast<int32_t>(batch.logit_rows.size());
  host_[p.counts + 4] = static_cast<int32_t>(batch.seqs.size());
  const auto bits = [](auto x) { return static_cast<int32_t>(x); };
  std::ranges::transform(batch.tokens, host_ + p.tokens, [](TokenId id) { return to_index(id); });
  std::ranges::copy(batch.positions, host_ + p.positions);
  std::ranges::transform(batch.logit_rows, host_ + p.logit_rows, bits);
  std::fill_n(host_ + p.seq_of_row, batch.n_rows(), 0);
  for (size_t s = 0; s < batch.seqs.size(); ++s) {
    const BatchSequence& seq = batch.seqs[s];
    REQUIRE(seq.block_tables.size() <= max_blocks_);
    std::fill_n(host_ + p.seq_of_row + seq.first_row, seq.n_rows, bits(s));
    for (uint32_t group = 0; group < n_groups_; ++group) {
      std::ranges::transform(seq.block_tables.of(group), host_ + p.block_tables + (s * n_groups_ + group) * max_blocks_,
                             [](BlockId id) { return static_cast<int32_t>(to_index(id)); });
    }
  }
  write_seqs(batch);
  write_tiles(batch);
  device.upload(device_words_, host_, (p.block_tables + n_table_words) * sizeof(int32_t));
}

}  // namespace realizar::cuda
