#include "backend/cuda/step/choice_input.h"

#include <algorithm>

#include "base/try.h"

namespace realizar::cuda {
namespace {

constexpr uint32_t kSeenEachRow = 256;

}  // namespace

size_t ChoiceInput::n_bytes_for(uint32_t max_rows) {
  return max_rows * (sizeof(ChoiceRow) + kSeenEachRow * sizeof(SeenToken));
}

Status ChoiceInput::create(Device& device, uint32_t max_rows) {
  max_seen_ = max_rows * kSeenEachRow;
  const size_t row_bytes = max_rows * sizeof(ChoiceRow);
  RZ_TRY(void* memory, device.allocate(n_bytes_for(max_rows)));
  const Result<void*> pinned = device.allocate_pinned(n_bytes_for(max_rows));
  if (!pinned.ok()) return device.free(memory), pinned.error();
  void* host = *pinned;
  host_rows_ = static_cast<ChoiceRow*>(host);
  host_seen_ = reinterpret_cast<SeenToken*>(static_cast<std::byte*>(host) + row_bytes);
  rows_ = static_cast<ChoiceRow*>(memory);
  seen_ = reinterpret_cast<SeenToken*>(static_cast<std::byte*>(memory) + row_bytes);
  return {};
}

bool ChoiceInput::can_choose(const TokenChoice& choice) {
  return choice.typical_p >= 1 && choice.top_k <= kMaxCandidates;
}

void ChoiceInput::upload(Device& device, std::span<const TokenChoice> choices) {
  uint32_t n_seen = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    const TokenChoice& choice = choices[i];
    ChoiceRow& row = host_rows_[i];
    row = {};
    if (!choice.is_wanted || n_seen + choice.seen.size() > max_seen_) continue;
    row = {choice.u,
           choice.temperature,
           choice.top_p,
           choice.min_p,
           choice.repeat_penalty,
           choice.frequency_penalty,
           choice.presence_penalty,
           choice.top_k,
           n_seen,
           static_cast<uint32_t>(choice.seen.size()),
           1};
    std::ranges::copy(choice.seen, host_seen_ + n_seen);
    n_seen += row.n_seen;
  }
  device.upload(rows_, host_rows_, choices.size() * sizeof(ChoiceRow));
  if (n_seen > 0) device.upload(seen_, host_seen_, n_seen * sizeof(SeenToken));
}

}  // namespace realizar::cuda
