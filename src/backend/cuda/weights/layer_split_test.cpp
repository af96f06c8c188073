#include "backend/cuda/weights/layer_split.h"

#include <gtest/gtest.h>

namespace realizar::cuda {
namespace {

using Counts = std::vector<uint32_t>;

Counts split(const ModelBytes& model, const std::vector<uint64_t>& room_bytes) {
  return split_layers(model, room_bytes);
}

TEST(LayerSplit, OneDeviceTakesAll) {
  EXPECT_EQ(split({100, 10, 7}, {5}), (Counts{7}));
}

TEST(LayerSplit, IsInProportionToTheRoom) {
  EXPECT_EQ(split({0, 10, 12}, {100, 100}), (Counts{6, 6}));
  EXPECT_EQ(split({0, 10, 12}, {50, 100}), (Counts{4, 8}));
  EXPECT_EQ(split({0, 10, 12}, {300, 100, 200}), (Counts{6, 2, 4}));
}

TEST(LayerSplit, WhatBelongsToNoLayerCountsOnTheFirst) {
  EXPECT_EQ(split({40, 10, 12}, {100, 100}), (Counts{4, 8}));
  EXPECT_EQ(split({500, 10, 12}, {600, 600}), (Counts{0, 12}));
}

TEST(LayerSplit, MoreDevicesThanLayers) {
  const Counts counts = split({0, 10, 2}, {100, 100, 100, 100});
  EXPECT_EQ(counts, (Counts{1, 1, 0, 0}));
}

TEST(LayerSplit, NoDeviceIsOverfullWhileAnotherHasRoom) {
  EXPECT_EQ(split({0, 10, 10}, {15, 95}), (Counts{1, 9}));
  EXPECT_TRUE(fits({0, 10, 10}, std::vector<uint64_t>{15, 95}));
  EXPECT_FALSE(fits({0, 10, 10}, std::vector<uint64_t>{15, 89}));
  EXPECT_FALSE(fits({6, 10, 10}, std::vector<uint64_t>{15, 95}));
}

TEST(LayerSplit, SizesThatAreNotKnownAreTakenAsAlike) {
  EXPECT_EQ(split({0, 0, 4}, {100, 100}), (Counts{2, 2}));
  EXPECT_EQ(split({0, 10, 3}, {0, 0}), (Counts{2, 1}));
}

}  // namespace
}  // namespace realizar::cuda
