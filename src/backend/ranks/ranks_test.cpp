#include <gtest/gtest.h>

#include <numeric>

#include "backend/exchange_ops.h"
#include "backend/ranks/micro_batches.h"
#include "backend/ranks/rank_messages.h"
#include "backend/ranks/rank_split.h"
#include "backend/ranks/rank_weights.h"

namespace realizar::ranks {
namespace {

TEST(Sharing, GivesEachRankWholeUnitsAndTheLastTheRest) {
  for (const Sharing sharing : {Sharing{64, 16}, {65, 16}, {3, 1}, {128256, 32}, {7, 4}}) {
    for (const uint32_t n_ranks : {1u, 2u, 3u, 5u}) {
      uint32_t end = 0, least = UINT32_MAX, most = 0;
      for (uint32_t rank = 0; rank < n_ranks; ++rank) {
        const Sharing::Range range = sharing.of(rank, n_ranks);
        EXPECT_EQ(range.first, end);
        EXPECT_TRUE(range.first % sharing.unit == 0 || range.n == 0);
        end = range.first + range.n;
        least = std::min(least, range.n), most = std::max(most, range.n);
      }
      EXPECT_EQ(end, sharing.n);
      EXPECT_LE(most - least, sharing.unit + sharing.unit - 1) << sharing.n << " by " << n_ranks;
    }
  }
}

TEST(LayersOf, LeaveRoomForTheHeadAndGiveEachRankALayer) {
  const RankOptions even{.n_layers = 16}, with_head{.n_layers = 16, .head_layers = 4};
  EXPECT_EQ(layers_of(even, 0, 2), (LayerRange{0, 8}));
  EXPECT_EQ(layers_of(even, 1, 2), (LayerRange{8, 16}));
  EXPECT_EQ(layers_of(with_head, 0, 2), (LayerRange{0, 10}));
  EXPECT_EQ(layers_of(with_head, 1, 2), (LayerRange{10, 16}));
  const RankOptions heavy{.n_layers = 3, .head_layers = 100};
  for (uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(layers_of(heavy, rank, 3), (LayerRange{rank, rank + 1}));
}

TEST(SharingOf, FollowsTheSplit) {
  const MatrixShape rows{.n_rows = 64, .n_cols = 32, .layer = 0, .shard = Shard::kRows, .shard_unit = 16};
  const MatrixShape experts{
      .n_mats = 8, .n_rows = 64, .n_cols = 32, .layer = 0, .shard = Shard::kCols, .shard_unit = 8};
  EXPECT_EQ(sharing_of(rows, RankSplit::kLayer, 2).shared, Shared::kNothing);
  EXPECT_EQ(sharing_of(rows, RankSplit::kTensor, 2).shared, Shared::kRows);
  EXPECT_EQ(sharing_of(rows, RankSplit::kTensor, 5).shared, Shared::kNothing) << "fewer units than ranks";
  EXPECT_EQ(sharing_of(experts, RankSplit::kTensor, 4).shared, Shared::kCols);
  EXPECT_EQ(sharing_of(experts, RankSplit::kExpert, 4).shared, Shared::kMats);
  EXPECT_EQ(sharing_of(rows, RankSplit::kExpert, 4).shared, Shared::kRows);
}

// Two decoding sequences and two prompts.
struct Steps {
  std::vector<TokenId> tokens = std::vector<TokenId>(12);
  std::vector<Pos> positions = std::vector<Pos>(12);
  std::vector<BlockId> blocks{BlockId{3}, BlockId{1}, BlockId{4}, BlockId{5}};
  std::vector<uint32_t> logit_rows{0, 1, 5, 11};
  std::vector<BatchSequence> seqs;
  StepBatch batch;

  Steps() {
    std::iota(reinterpret_cast<int32_t*>(tokens.data()), reinterpret_cast<int32_t*>(tokens.data()) + 12, 100);
    std::iota(reinterpret_cast<int32_t*>(positions.data()), reinterpret_cast<int32_t*>(positions.data()) + 12, 7);
    const BlockTables tables{std::span<const BlockId>(blocks).first(2), 2};
    seqs = {{0, 1, positions[0], tables, StateId{1}, StateId{2}},
            {1, 1, positions[1], tables, StateId{3}, StateId{3}},
            {2, 4, positions[2], tables, StateId{4}, StateId{4}},
            {6, 6, positions[6], tables, StateId{5}, StateId{6}}};
    batch = {.tokens = tokens, .positions = positions, .seqs = seqs, .n_decode_rows = 2, .logit_rows = logit_rows};
  }
};

void expect_same(const StepBatch& expected, const StepBatch& actual, uint32_t n_groups) {
  EXPECT_TRUE(std::ranges::equal(expected.tokens, actual.tokens));
  EXPECT_TRUE(std::ranges::equal(expected.positions, actual.positions));
  EXPECT_TRUE(std::ranges::equal(expected.logit_rows, actual.logit_rows));
  EXPECT_EQ(expected.n_decode_rows, actual.n_decode_rows);
  ASSERT_EQ(expected.seqs.size(), actual.seqs.size());
  for (size_t i = 0; i < expected.seqs.size(); ++i) {
    const BatchSequence &a = expected.seqs[i], &b = actual.seqs[i];
    EXPECT_EQ(std::tie(a.first_row, a.n_rows, a.first_pos, a.state_from, a.state_to),
              std::tie(b.first_row, b.n_rows, b.first_pos, b.state_from, b.state_to));
    for (uint32_t group = 0; group < n_groups; ++group) {
      EXPECT_TRUE(std::ranges::equal(a.block_tables.of(group), b.block_tables.of(group)));
    }
  }
}

TEST(RankMessages, BringABatchAsItIs) {
  const Steps steps;
  ByteWriter to;
  write(to, steps.batch, 2);
  EXPECT_LE(to.bytes().size(), batch_bytes(12, 4, 4, 2, 2));
  ReceivedBatch received;
  received.reserve(12, 4, 4, 2, 2);
  ByteReader from(to.bytes());
  expect_same(steps.batch, received.read(from, 2), 2);
}

TEST(RankMessages, BringAProgramAndACacheAsTheyAre) {
  Program program;
  const ActId x = program.add_activation("x", 64), logits = program.add_activation("logits", 96, Rows::kLogits);
  program.add(NormOp{.out = x, .in = x, .eps = 1e-5f, .n_groups = 4, .place = {OpRole::kAttn, 3}});
  program.add(JoinOp{.out = x, .part = x, .accumulate = true});
  program.add(
      LinearOp{.out = logits, .in = x, .weight = WeightId{5}, .epilogue = {.softcap = 30}, .rows = Rows::kLogits});
  program.outputs = {logits};
  CacheLayout layout = KvLayout{.n_layers = 2, .n_kv_heads = 4, .head_dim = 16, .n_blocks = 9};
  layout.layers.emplace_back(Recurrent{{16, 64}});
  layout.n_states = 3;
  ByteWriter to;
  write(to, layout);
  write(to, program);
  ByteReader from(to.bytes());
  const CacheLayout read = read_layout(from);
  EXPECT_EQ(read.layers, layout.layers);
  EXPECT_EQ(std::tie(read.block_tokens, read.n_blocks, read.type, read.n_states),
            std::tie(layout.block_tokens, layout.n_blocks, layout.type, layout.n_states));
  EXPECT_EQ(read_program(from), program);
}

// Prompts are cut at the ends of parts; a row's position, its sequence's state and its tables do not change.
TEST(MicroBatches, CutPromptsWhereTheyMay) {
  std::vector<TokenId> tokens(200);
  std::vector<Pos> positions(200);
  const std::vector<uint32_t> logit_rows{0, 1, 99, 199};
  const std::vector<BatchSequence> seqs{{0, 1, Pos{5}, {}, StateId{1}, StateId{1}},
                                        {1, 1, Pos{9}, {}, StateId{2}, StateId{2}},
                                        {2, 98, Pos{0}, {}, StateId{3}, StateId{4}},
                                        {100, 100, Pos{32}, {}, StateId{5}, StateId{6}}};
  const StepBatch batch{
      .tokens = tokens, .positions = positions, .seqs = seqs, .n_decode_rows = 2, .logit_rows = logit_rows};
  MicroBatches micro;
  micro.reserve(4, 4, 4);
  const auto whole = micro.split(batch, false);
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0].n_rows(), 100u);
  const auto parts = micro.split(batch, true);
  ASSERT_EQ(parts.size(), 4u);
  for (const StepBatch& part : parts) EXPECT_EQ(part.n_rows(), 50u);
  EXPECT_EQ(parts[0].n_decode_rows, 2u);
  EXPECT_EQ(parts[1].n_decode_rows, 0u);
  ASSERT_EQ(parts[0].seqs.size(), 3u);
  const BatchSequence &first = parts[0].seqs[2], &second = parts[1].seqs[0], &last = parts[3].seqs[0];
  EXPECT_EQ(std::tuple(first.first_row, first.n_rows, first.first_pos, first.state_from, first.state_to),
            std::tuple(2u, 48u, Pos{0}, StateId{3}, StateId{4}));
  EXPECT_EQ(std::tuple(second.first_row, second.n_rows, second.first_pos, second.state_from, second.state_to),
            std::tuple(0u, 50u, Pos{48}, StateId{4}, StateId{4}));
  EXPECT_EQ(std::tuple(last.first_row, last.n_rows, last.first_pos), std::tuple(0u, 50u, Pos{82}));
  EXPECT_EQ(parts[1].logit_rows.front(), 49u);
  EXPECT_EQ(micro.n_logit_rows_before(3), 3u);
}

TEST(MicroBatches, OfFewRowsAreOne) {
  const Steps steps;
  MicroBatches micro;
  micro.reserve(4, 4, 4);
  const auto parts = micro.split(steps.batch, true);
  ASSERT_EQ(parts.size(), 1u);
  expect_same(steps.batch, parts[0], 2);
}

}  // namespace
}  // namespace realizar::ranks
