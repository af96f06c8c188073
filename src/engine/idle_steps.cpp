#include "engine/idle_steps.h"

#include <algorithm>
#include <bit>

namespace realizar {
namespace {

// Rows of sequences that are all at one position. Several sequences have a block each, so that none writes where
// another does.
class IdleRows {
 public:
  IdleRows(uint32_t n_seqs, uint32_t first_pos, uint32_t n_rows_each, uint32_t block_tokens, bool wants_choices) {
    const uint32_t n_blocks = (first_pos + n_rows_each - 1) / block_tokens + 1;
    blocks_.resize(size_t{n_seqs} * n_blocks);
    for (uint32_t s = 0; s < n_seqs; ++s) {
      const auto own = std::span(blocks_).subspan(size_t{s} * n_blocks, n_blocks);
      for (uint32_t i = 0; i < n_blocks; ++i) own[i] = BlockId{n_seqs == 1 ? i : s};
      seqs_.push_back({s * n_rows_each, n_rows_each, static_cast<Pos>(first_pos), own});
      for (uint32_t i = 0; i < n_rows_each; ++i) positions_.push_back(static_cast<Pos>(first_pos + i));
      logit_rows_.push_back((s + 1) * n_rows_each - 1);
    }
    tokens_.resize(positions_.size());
    greedy_.temperature = 0;
    if (wants_choices) choices_.assign(logit_rows_.size(), {&greedy_, 0, {}});
  }
  IdleRows(const IdleRows&) = delete;
  IdleRows& operator=(const IdleRows&) = delete;

  StepBatch batch(bool is_decode) const {
    const auto n_rows = static_cast<uint32_t>(tokens_.size());
    return {tokens_, positions_, seqs_, is_decode ? n_rows : 0u, logit_rows_, choices_};
  }

 private:
  std::vector<TokenId> tokens_;
  std::vector<Pos> positions_;
  std::vector<BlockId> blocks_;  // [n_seqs, blocks of one]
  std::vector<BatchSequence> seqs_;
  std::vector<uint32_t> logit_rows_;
  SamplingParams greedy_;
  std::vector<TokenChoice> choices_;
};

}  // namespace

IdleSteps::IdleSteps(Decoder& decoder, const Backend& backend, const IdleBounds& bounds)
    : decoder_(decoder), bounds_(bounds) {
  SamplingParams greedy;
  greedy.temperature = 0;
  chooses_ = bounds.chooses && backend.can_choose({&greedy, 0, {}});
}

// Backends take what their limits allow, whatever the step: so a row of each phase stands for all.
Status IdleSteps::reserve() {
  const IdleRows prompt(1, 0, 1, bounds_.block_tokens, chooses_);
  RZ_CHECK_OK(decoder_.reserve(prompt.batch(false)));
  const IdleRows decode(1, bounds_.n_positions - 1, 1, bounds_.block_tokens, chooses_);
  return decoder_.reserve(decode.batch(true));
}

Status IdleSteps::run(uint32_t n_seqs, uint32_t first_pos, uint32_t n_rows_each) {
  const IdleRows rows(n_seqs, first_pos, n_rows_each, bounds_.block_tokens, chooses_);
  decoder_.encode(rows.batch(n_rows_each == 1));
  return decoder_.wait();
}

// The largest steps come first: where a backend keeps few recordings, those of small steps stay.
Status IdleSteps::run_usual() {
  const BackendLimits& limits = bounds_.limits;
  RZ_CHECK_OK(run(1, 0, std::min(limits.max_rows, bounds_.n_positions)));
  uint32_t n_seqs = std::min({limits.max_seqs, limits.max_logit_rows, bounds_.n_blocks});
  for (; n_seqs > 0; n_seqs = std::bit_ceil(n_seqs) / 2) {
    for (uint32_t n_positions = bounds_.n_positions; n_positions > 0; n_positions = std::bit_ceil(n_positions) / 2) {
      RZ_CHECK_OK(run(n_seqs, n_positions - 1, 1));
    }
  }
  return {};
}

}  // namespace realizar
