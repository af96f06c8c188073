// The cache's blocks as a backend hands them out: as numbers, copied, cleared.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/kv_types.h"
#include "support/backends_under_test.h"
#include "support/op_rig.h"
#include "support/suite_params.h"

namespace realizar::test {
namespace {

constexpr KvLayout kCacheLayout{.n_layers = 2, .n_kv_heads = 3, .head_dim = 64, .block_tokens = 32, .n_blocks = 4};
constexpr uint32_t kCacheCols = kCacheLayout.n_kv_heads * kCacheLayout.head_dim, kCacheRows = 40, kCacheLayer = 1;
constexpr size_t kCacheBlockFloats = size_t{kCacheLayout.block_tokens} * kCacheCols;

struct CacheBlock {
  std::vector<float> keys, values;
  bool operator==(const CacheBlock&) const = default;
};

class CacheTest : public testing::TestWithParam<std::tuple<BackendUnderTest, KvType>> {
 protected:
  void SetUp() override { skip_where_absent(std::get<0>(GetParam())); }

  // Fills positions of a sequence whose blocks are 2 and 0.
  void store() {
    KvLayout layout = kCacheLayout;
    layout.type = std::get<1>(GetParam());
    rig_.emplace(std::move(*std::get<0>(GetParam()).make(2)),
                 BackendLimits{.max_rows = 64, .max_logit_rows = 1, .max_context = 64});
    const ActId q = rig_->input(k_), k = rig_->input(k_), v = rig_->input(v_);
    ASSERT_TRUE(rig_->backend().create_kv_cache(layout).ok());
    TestBatch batch = rows_of(first_tokens(kCacheRows), 0);
    for (uint32_t row = 0; row < kCacheRows; ++row) batch.positions[row] = Pos(row);
    batch.seqs = {{0, kCacheRows, Pos{0}, blocks_}};
    const RopeStoreOp op{.q = q,
                         .k = k,
                         .v = v,
                         .layer = kCacheLayer,
                         .n_heads = kCacheLayout.n_kv_heads,
                         .n_kv_heads = kCacheLayout.n_kv_heads,
                         .head_dim = kCacheLayout.head_dim};
    rig_->step(batch, {q, k, v}, [&](Program& p) { p.add(op); });
  }
  CacheBlock read(BlockId id) {
    CacheBlock kv{std::vector<float>(kCacheBlockFloats), std::vector<float>(kCacheBlockFloats)};
    rig_->backend().read_kv(kCacheLayer, id, kv.keys, kv.values);
    return kv;
  }
  // As the type keeps it.
  std::vector<float> rounded(std::span<const float> row) const {
    const TypeTraits& type = kv_traits(std::get<1>(GetParam()));
    std::vector<std::byte> stored(row_bytes(type, kCacheLayout.head_dim));
    std::vector<float> values(row.size());
    for (size_t at = 0; at < row.size(); at += kCacheLayout.head_dim) {
      type.encode(row.data() + at, stored.data(), kCacheLayout.head_dim);
      type.decode(stored.data(), values.data() + at, kCacheLayout.head_dim);
    }
    return values;
  }

  const std::vector<BlockId> blocks_{BlockId{2}, BlockId{0}};
  InputTable k_ = random_inputs(kCacheRows, kCacheCols, 1), v_ = random_inputs(kCacheRows, kCacheCols, 2);
  std::optional<OpRig> rig_;
};

TEST_P(CacheTest, GivesItsKeysAndValuesAsNumbers) {
  store();
  for (uint32_t pos = 0; pos < kCacheRows; ++pos) {
    const CacheBlock block = read(blocks_[pos / kCacheLayout.block_tokens]);
    const auto row_of = [&](const std::vector<float>& all) {
      const auto first = all.begin() + pos % kCacheLayout.block_tokens * kCacheCols;
      return std::vector<float>(first, first + kCacheCols);
    };
    ASSERT_EQ(row_of(block.keys), rounded({k_.row(pos), kCacheCols})) << pos;
    ASSERT_EQ(row_of(block.values), rounded({v_.row(pos), kCacheCols})) << pos;
  }
}

TEST_P(CacheTest, CopiesOneBlockIntoAnother) {
  store();
  const CacheBlock whole = read(BlockId{2});
  rig_->backend().copy_block(BlockId{2}, BlockId{3});
  EXPECT_EQ(read(BlockId{3}), whole);
  EXPECT_EQ(read(BlockId{2}), whole);
  std::vector<std::byte> from(rig_->backend().block_bytes()), to(from.size());
  rig_->backend().read_block(BlockId{2}, from);
  rig_->backend().read_block(BlockId{3}, to);
  EXPECT_EQ(to, from) << "the other layers too";
}

TEST_P(CacheTest, ClearsOneBlockAlone) {
  store();
  const CacheBlock beside = read(BlockId{2});
  rig_->backend().zero_block(BlockId{0});
  std::vector<std::byte> bytes(rig_->backend().block_bytes());
  rig_->backend().read_block(BlockId{0}, bytes);
  EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; }));
  EXPECT_EQ(read(BlockId{2}), beside);
}

constexpr KvType kCacheTypes[] = {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0, KvType::kF8};

INSTANTIATE_TEST_SUITE_P(Operations, CacheTest,
                         testing::Combine(testing::ValuesIn(backends_under_test()), testing::ValuesIn(kCacheTypes)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  std::string(kv_traits(std::get<1>(test.param)).name);
                         });

}  // namespace
}  // namespace realizar::test
