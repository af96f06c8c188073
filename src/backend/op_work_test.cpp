#include "backend/op_work.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace realizar {
namespace {

// Counts by brute force: positions seen by each row, and by any row.
struct Seen {
  uint64_t n_all = 0;
  std::set<uint32_t> positions;
};

Seen seen_by_rows(uint32_t first_pos, uint32_t n_rows, uint32_t window) {
  Seen seen;
  for (uint32_t pos = first_pos; pos < first_pos + n_rows; ++pos) {
    const uint32_t first = window > 0 && pos >= window ? pos - window + 1 : 0;
    for (uint32_t p = first; p <= pos; ++p, ++seen.n_all) seen.positions.insert(p);
  }
  return seen;
}

TEST(OpWork, AttentionReadsAndMultipliesWhatItsRowsSee) {
  constexpr uint32_t kHeads = 6, kKvHeads = 2, kHeadDim = 32;
  for (const uint32_t first_pos : {0u, 1u, 31u, 40u}) {
    for (const uint32_t n_rows : {1u, 2u, 33u}) {
      for (const uint32_t window : {0u, 1u, 32u, 33u, 100u}) {
        AttentionOp op{};
        op.n_heads = kHeads;
        op.n_kv_heads = kKvHeads;
        op.head_dim = kHeadDim;
        op.window = window;
        const BatchSequence seq{0, n_rows, static_cast<Pos>(first_pos), {}};
        const std::vector<BatchSequence> seqs{seq, seq};
        StepBatch batch;
        batch.seqs = seqs;
        const OpWork work = attention_work(op, batch, KvType::kF16);
        const Seen seen = seen_by_rows(first_pos, n_rows, window);
        EXPECT_EQ(work.flops, 2 * 4 * seen.n_all * kHeads * kHeadDim) << first_pos << " " << n_rows << " " << window;
        EXPECT_EQ(work.bytes, 2 * 2 * seen.positions.size() * kKvHeads * kHeadDim * sizeof(uint16_t))
            << first_pos << " " << n_rows << " " << window;
      }
    }
  }
}

}  // namespace
}  // namespace realizar
