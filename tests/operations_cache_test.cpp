// A backend's operations on cache blocks: read as numbers, copied, cleared.
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
  // Rounded to the cache's type.
  std::vector<float> rounded(std::span<const float> row, uint32_t dim = kCacheLayout.head_dim) const {
    const TypeTraits& type = kv_traits(std::get<1>(GetParam()));
    std::vector<std::byte> stored(row_bytes(type, dim));
    std::vector<float> values(row.size());
    for (size_t at = 0; at < row.size(); at += dim) {
      type.encode(row.data() + at, stored.data(), dim);
      type.decode(stored.data(), values.data() + at, dim);
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

// A layer with several heads, one with a single narrow head, and one that only stores keys.
const std::vector<StateLayout> kMixedLayers{Paged{3, 64, 64, 0}, Paged{1, 32, 32, 0}, Paged{1, 64, 0, 0}};

TEST_P(CacheTest, KeepsLayersOfDifferentWidths) {
  CacheLayout layout(kCacheLayout);
  layout.layers = kMixedLayers;
  layout.type = std::get<1>(GetParam());
  rig_.emplace(std::move(*std::get<0>(GetParam()).make(2)),
               BackendLimits{.max_rows = 64, .max_logit_rows = 1, .max_context = 64});
  std::vector<InputTable> keys, values;
  std::vector<ActId> k, v;
  for (const StateLayout& layer : kMixedLayers) {
    const auto& own = std::get<Paged>(layer);
    keys.push_back(random_inputs(kCacheRows, own.n_kv_heads * own.k_dim, 3));
    values.push_back(random_inputs(kCacheRows, own.n_kv_heads * own.k_dim, 4));
    k.push_back(rig_->input(keys.back()));
    v.push_back(rig_->input(values.back()));
  }
  ASSERT_TRUE(rig_->backend().create_kv_cache(layout).ok());
  TestBatch batch = rows_of(first_tokens(kCacheRows), 0);
  for (uint32_t row = 0; row < kCacheRows; ++row) batch.positions[row] = Pos(row);
  batch.seqs = {{0, kCacheRows, Pos{0}, blocks_}};
  rig_->step(batch, {k[0], v[0], k[1], v[1], k[2], v[2]}, [&](Program& p) {
    for (uint32_t layer = 0; layer < kMixedLayers.size(); ++layer) {
      const auto& own = std::get<Paged>(kMixedLayers[layer]);
      p.add(RopeStoreOp{.q = k[layer],
                        .k = k[layer],
                        .v = v[layer],
                        .layer = layer,
                        .n_heads = own.n_kv_heads,
                        .n_kv_heads = own.n_kv_heads,
                        .head_dim = own.k_dim});
    }
  });
  rig_->backend().copy_block(BlockId{2}, BlockId{3});
  for (uint32_t layer = 0; layer < kMixedLayers.size(); ++layer) {
    const auto& own = std::get<Paged>(kMixedLayers[layer]);
    const size_t n_key_cols = size_t{own.n_kv_heads} * own.k_dim, n_value_cols = size_t{own.n_kv_heads} * own.v_dim;
    std::vector<float> got_keys(layout.block_tokens * n_key_cols), got_values(layout.block_tokens * n_value_cols);
    rig_->backend().read_kv(layer, BlockId{3}, got_keys, got_values);
    for (uint32_t row = 0; row < layout.block_tokens; ++row) {
      const auto key = rounded({keys[layer].row(row), n_key_cols}, own.k_dim);
      ASSERT_TRUE(std::ranges::equal(key, std::span(got_keys).subspan(row * n_key_cols, n_key_cols))) << layer;
      const auto value = rounded({values[layer].row(row), n_value_cols}, own.k_dim);
      ASSERT_TRUE(std::ranges::equal(value, std::span(got_values).subspan(row * n_value_cols, n_value_cols))) << layer;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, CacheTest,
                         testing::Combine(testing::ValuesIn(backends_under_test()), testing::ValuesIn(kKvTypes)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  std::string(kv_traits(std::get<1>(test.param)).name);
                         });

}  // namespace
}  // namespace realizar::test
