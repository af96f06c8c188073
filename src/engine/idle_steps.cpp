#include "engine/idle_steps.h"

#include <algorithm>
#include <bit>

#include "base/try.h"

namespace realizar::engine {
namespace {

// Rows of sequences that are all at one position. Several sequences have a block each, so that none overwrites
// another's; a single one has as many as there are, since the cache of layers with windows may not hold it whole.
class IdleRows {
 public:
  IdleRows(uint32_t n_seqs, uint32_t first_pos, uint32_t n_rows_each, const IdleBounds& bounds, bool wants_choices) {
    const uint32_t n_blocks = (first_pos + n_rows_each - 1) / bounds.block_tokens + 1;
    blocks_.resize(size_t{n_seqs} * n_blocks);
    for (uint32_t s = 0; s < n_seqs; ++s) {
      const auto own = std::span(blocks_).subspan(size_t{s} * n_blocks, n_blocks);
      for (uint32_t i = 0; i < n_blocks; ++i) own[i] = BlockId{n_seqs == 1 ? i % bounds.n_blocks : s};
      seqs_.push_back({s * n_rows_each, n_rows_each, static_cast<Pos>(first_pos), own, StateId{s}, StateId{s}});
      for (uint32_t i = 0; i < n_rows_each; ++i) positions_.push_back(static_cast<Pos>(first_pos + i));
      logit_rows_.push_back((s + 1) * n_rows_each - 1);
    }
    tokens_.resize(positions_.size());
    if (wants_choices) choices_.assign(logit_rows_.size(), {.is_wanted = true});
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
  std::vector<TokenChoice> choices_;
};

}  // namespace

// The largest steps come first: if a backend keeps few recordings, those of small steps stay.
Status run_idle_steps(Backend& backend, ProgramId program, const IdleBounds& bounds) {
  const bool chooses = bounds.chooses && backend.can_choose({.is_wanted = true});
  const auto run = [&](uint32_t n_seqs, uint32_t first_pos, uint32_t n_rows_each) {
    const IdleRows rows(n_seqs, first_pos, n_rows_each, bounds, chooses);
    const StepBatch batch = rows.batch(n_rows_each == 1);
    backend.run(program, batch);
    return backend.wait();
  };
  const BackendLimits& limits = bounds.limits;
  RZ_CHECK_OK(run(1, 0, std::min(limits.max_rows, bounds.n_positions)));
  uint32_t n_seqs = std::min({limits.max_seqs, limits.max_logit_rows, bounds.n_blocks});
  for (; n_seqs > 0; n_seqs = std::bit_ceil(n_seqs) / 2) {
    for (uint32_t n_positions = bounds.n_positions; n_positions > 0; n_positions = std::bit_ceil(n_positions) / 2) {
      RZ_CHECK_OK(run(n_seqs, n_positions - 1, 1));
    }
  }
  return {};
}

}  // namespace realizar::engine
