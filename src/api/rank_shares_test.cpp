#include "api/rank_shares.h"

#include <gtest/gtest.h>

#include "backend/kv_types.h"

namespace realizar {
namespace {

using ranks::RankOptions;
using ranks::RankSplit;

CacheLayout cache_of(uint32_t n_kv_heads) {
  return KvLayout{.n_layers = 4, .n_kv_heads = n_kv_heads, .head_dim = 16, .n_blocks = 8};
}

TEST(RankKvBytes, AreThoseOfItsLayers) {
  CacheLayout cache = cache_of(4);
  cache.layers[3] = Recurrent{{256, 512}};
  cache.n_states = 2;
  const RankOptions options{.split = RankSplit::kLayer, .n_layers = 4};
  const uint64_t first = rank_kv_bytes(cache, options, 0, 2), last = rank_kv_bytes(cache, options, 1, 2);
  EXPECT_EQ(first, cache_bytes(cache_of(4)) / 2);
  EXPECT_EQ(last, cache_bytes(cache_of(4)) / 4 + 2 * state_bytes(cache.layers));
  EXPECT_EQ(first + last, cache_bytes(cache));
}

TEST(RankKvBytes, AreThoseOfItsHeads) {
  const RankOptions options{.split = RankSplit::kTensor, .n_layers = 4};
  const uint64_t whole = cache_bytes(cache_of(4));
  EXPECT_EQ(rank_kv_bytes(cache_of(4), options, 1, 4), whole / 4);
  EXPECT_EQ(rank_kv_bytes(cache_of(4), options, 0, 3), whole / 2);  // one of the ranks has two of them
  EXPECT_EQ(rank_kv_bytes(cache_of(4), options, 0, 5), whole);      // heads are not shared then
}

}  // namespace
}  // namespace realizar
