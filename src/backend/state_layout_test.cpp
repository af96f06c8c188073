#include "backend/state_layout.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

namespace realizar {
namespace {

using Place = LayerGroups::Place;

std::vector<StateLayout> layers_with(std::initializer_list<uint32_t> windows) {
  std::vector<StateLayout> layers;
  for (const uint32_t window : windows) layers.push_back(Paged{2, 64, 64, window});
  return layers;
}

TEST(StateLayout, LayersOfOneWindowAreOneGroup) {
  for (const uint32_t window : {0u, 128u}) {
    std::vector<StateLayout> layers = layers_with({window, window, window});
    layers[1] = Paged{1, 32, 0, window};  // widths do not matter
    const LayerGroups groups = group_layers(layers);
    EXPECT_EQ(groups.windows, std::vector{window});
    EXPECT_EQ(groups.places, (std::vector<Place>{{0, 0}, {0, 1}, {0, 2}}));
    EXPECT_EQ(groups.n_slots, 3u);
  }
  EXPECT_EQ(group_layers({}).windows, std::vector{0u});
}

TEST(StateLayout, EveryOtherLayerWithAWindowIsAGroup) {
  const LayerGroups groups = group_layers(layers_with({128, 0, 128, 0}));
  EXPECT_EQ(groups.windows, (std::vector{128u, 0u}));
  EXPECT_EQ(groups.places, (std::vector<Place>{{0, 0}, {1, 0}, {0, 1}, {1, 1}}));
  EXPECT_EQ(groups.n_slots, 2u);
}

// Each layer has its own slot in its group; no group is larger than the smallest window's.
TEST(StateLayout, ManyLayersOfAWindowAreSeveralGroupsOfTheOthersSize) {
  std::vector<StateLayout> layers;
  for (uint32_t i = 0; i < 26; ++i) layers.push_back(Paged{1, 256, 256, i % 6 == 5 ? 0u : 512u});
  const LayerGroups groups = group_layers(layers);
  EXPECT_EQ(groups.windows.size(), 7u);  // 4 layers without, 22 with
  EXPECT_EQ(groups.n_slots, 4u);
  std::set<std::pair<uint32_t, uint32_t>> places;
  for (uint32_t i = 0; i < layers.size(); ++i) {
    EXPECT_EQ(groups.windows[groups.places[i].group], std::get<Paged>(layers[i]).window) << i;
    EXPECT_TRUE(places.insert({groups.places[i].group, groups.places[i].slot}).second) << i;
  }
}

TEST(StateLayout, OneLayerWithoutAWindowMakesNoGroupOfEveryOther) {
  std::vector<StateLayout> layers(32, Paged{1, 64, 64, 512});
  layers[7] = Paged{1, 64, 64, 0};
  EXPECT_LE(group_layers(layers).windows.size(), 9u);
}

TEST(StateLayout, RecurrentLayersHaveNoPartOfBlocks) {
  std::vector<StateLayout> layers = layers_with({0, 0});
  layers.insert(layers.begin(), Recurrent{{4096}});
  const LayerGroups groups = group_layers(layers);
  EXPECT_EQ(groups.n_slots, 2u);
  EXPECT_EQ(groups.places[2], (Place{0, 1}));
}

TEST(CachePlanes, PartsOfDifferentBlocksAndSlotsLieApart) {
  const std::vector<StateLayout> layers = layers_with({128, 0, 128, 0});
  constexpr std::array<size_t, 4> kLayerBytes{10, 30, 20, 20};
  constexpr uint32_t kBlocks = 3;
  const CachePlanes planes = std::move(*CachePlanes::create(kBlocks, group_layers(layers), kLayerBytes));
  EXPECT_EQ(planes.block_bytes(), 50u) << "of each slot the largest part";
  EXPECT_EQ(planes.bytes(), kBlocks * 50u);
  // The block and slot that own each byte of the cache.
  std::map<size_t, std::pair<uint32_t, uint32_t>> owners;
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    for (uint32_t block = 0; block < kBlocks; ++block) {
      for (size_t i = 0; i < kLayerBytes[layer]; ++i) {
        const std::pair owner(block, layer / 2);
        const auto [found, is_new] = owners.try_emplace(planes.at(layer, BlockId{block}) + i, owner);
        ASSERT_EQ(found->second, owner);
        ASSERT_LT(found->first, planes.bytes());
      }
    }
  }
  size_t n_visited = 0;
  planes.for_each_part(BlockId{1}, [&](size_t offset, size_t in_block, size_t n_bytes) {
    EXPECT_EQ(in_block, n_visited);
    EXPECT_EQ(owners.at(offset).first, 1u);
    n_visited += n_bytes;
  });
  EXPECT_EQ(n_visited, planes.block_bytes());
}

TEST(CachePlanes, ACacheThatOverflowsIsRefused) {
  const std::array<size_t, 1> layer_bytes{SIZE_MAX / 4};
  const auto planes = CachePlanes::create(8, group_layers(layers_with({0})), layer_bytes);
  ASSERT_FALSE(planes.ok());
  EXPECT_EQ(planes.error().code, ErrorCode::kResourceExhausted);
}

TEST(CacheLayout, HasWhatLayersOfSeveralWidthsHaveInCommon) {
  CacheLayout layout(KvLayout{.n_layers = 3, .n_kv_heads = 2, .head_dim = 64, .block_tokens = 16, .n_blocks = 5});
  layout.layers[1] = Recurrent{{64}};
  layout.layers[2] = Paged{1, 128, 128, 128};
  const KvLayout common = common_layout(layout);
  EXPECT_EQ(common.n_layers, 3u);
  EXPECT_EQ(common.n_groups, 2u);
  EXPECT_EQ(common.block_tokens, 16u);
  EXPECT_EQ(common.n_blocks, 5u);
  EXPECT_TRUE(paged(layout, 2).ok());
  EXPECT_FALSE(paged(layout, 1).ok());
}

}  // namespace
}  // namespace realizar
